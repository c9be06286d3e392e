"""Every fault of a floor.yaml that is known, as a file: its text, and the exact lines that floor says about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from floor.config.load import decode, examine
from floor.errors import ConfigError

CASES = sorted((Path(__file__).parents[2] / "cases" / "config").glob("*.yaml"))


def _case(path: Path) -> dict[str, Any]:
    case: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return case


def _bytes(case: dict[str, Any]) -> bytes:
    return bytes.fromhex(case["hex"]) if "hex" in case else str(case["input"]).encode()


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_each_fault_is_told_in_these_words(path: Path) -> None:
    case = _case(path)
    try:
        _, warnings = examine(decode(_bytes(case), "floor.yaml"), "floor.yaml")
        errors: tuple[str, ...] = ()
    except ConfigError as error:
        errors, warnings = error.problems, ()
    assert list(errors) == case.get("errors", [])
    assert list(warnings) == case.get("warnings", [])
    assert errors or warnings


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_each_line_says_where_what_was_found_and_what_to_write(path: Path) -> None:
    case = _case(path)
    for line in (*case.get("errors", []), *case.get("warnings", [])):
        place, _, rest = line.partition(": found ")
        assert "floor.yaml" in place
        found, _, write = rest.partition("; better write " if "warnings" in case else "; write ")
        assert found
        assert write
        assert "\n" not in line


def test_there_are_cases_of_each_fault_that_people_met() -> None:
    texts = " ".join(str(_case(path)["about"]) for path in CASES)
    for fault in ("O04", "O05", "O06", "O07", "O08", "O13", "cloud-init#6127", "#14376", "minefield 104"):
        assert fault in texts
    assert len(CASES) >= 60
