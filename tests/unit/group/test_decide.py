"""When a part of a group starts, and when it begins anew: tests/cases/group."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from floor.box.parts import Mark, Phase, Told
from floor.group.decide import APART, Look, ends, gate, rests

CASES = Path(__file__).parents[2] / "cases/group"


def cases(name: str) -> list[Any]:
    return [pytest.param(one, id=one["case"]) for one in yaml.safe_load((CASES / name).read_text())]


def told(words: list[Any] | None) -> Told | None:
    """[part, phase, generation, left…]: a head's start is its generation."""
    if words is None:
        return None
    part, phase, generation, *left = [*words, None] if len(words) == 2 else words
    start = "" if phase == "down" else generation if part == "head" else "w1"
    return Told(part, "floor-group-flagship.service", Phase(phase), start or "w1", generation, tuple(left))


def own(words: list[Any]) -> Told:
    found = told(words)
    assert found is not None
    return found


@pytest.mark.parametrize("case", cases("gate.yaml"))
def test_gate(case: dict[str, Any]) -> None:
    found = gate(own(case["own"]), {box: told(words) for box, words in case["others"].items()})
    assert (found.go, found.generation) == (case.get("go", False), case["joined"])
    assert case.get("waits", "") in found.waits
    assert bool(found.waits) is not found.go


@pytest.mark.parametrize("case", cases("ends.yaml"))
def test_ends(case: dict[str, Any]) -> None:
    others = {
        box: Look(None, **words) if isinstance(words, dict) else Look(told(words))
        for box, words in case["others"].items()
    }
    why = ends(own(case["own"]), case.get("went", 60), others)
    assert why == "" if "ends" not in case else case["ends"] in why


@pytest.mark.parametrize(
    ("mark", "seconds"),
    [
        (None, 0),
        (Mark("w1", False, None, at=99), 0),
        (Mark("w1", True, "h1", at=60), 0),
        (Mark("w1", True, "h1", at=97), APART - 3),
        (Mark("w1", True, "h1", at=97, spared=True), 0),
        (Mark("w1", True, "h1", at=5000), APART),
    ],
    ids=["the first", "never went", "ran for long", "ended at once", "ended for another", "from another clock"],
)
def test_starts_of_a_rank_lie_apart(mark: Mark | None, seconds: float) -> None:
    assert rests(mark, 100) == seconds
