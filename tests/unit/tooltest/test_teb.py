"""tool-eval-bench beside the score: how it is called, what is taken from it, and what it may not know."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from floor.errors import UsageError
from floor.tooltest.run import teb
from floor.tooltest.run.send import Endpoint

ENDPOINT = Endpoint("http://127.0.0.1:8000/v1/", key="secret", timeout=60)
# The envelope of tool-eval-bench 3.0.0, as it wrote it.
RESULT = {"schema_version": "1", "tool_eval_bench_version": "3.0.0", "final_score": 86, "total_scenarios": 69}


def test_it_is_called_without_the_key() -> None:
    assert teb.argv("teb", ENDPOINT, "m", Path("/x")) == [
        *("teb", "run", "--base-url", "http://127.0.0.1:8000", "--model", "m"),
        *("--json-file", "/x/result.json", "--output-dir", "/x/runs", "--timeout", "60"),
    ]


def run(folder: Path, script: str) -> dict[str, Any]:
    """What comes of a program that does what the script says."""
    program = folder / "teb"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return asyncio.run(teb.run(str(program), ENDPOINT, "m"))


def test_its_score_is_taken_over(tmp_path: Path) -> None:
    script = (
        f"""test "$TOOL_EVAL_API_KEY" = secret && test -z "$(ls -A)" && printf '%s' '{json.dumps(RESULT)}' > "$7" """
    )
    found = run(tmp_path, script)
    assert found == {"score": 86, "scenarios": 69, "version": "3.0.0", "words": "86 of 100 in 69 scenarios"}


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo first >&2; echo no such model >&2; exit 3", "ended with 3: no such model"),
        ("""echo '{}' > "$7" """, "ended with 0: "),
        ("""echo '{' > "$7" """, "ended with 0: "),
    ],
)
def test_a_failure_of_it_is_told_and_ends_nothing(tmp_path: Path, script: str, words: str) -> None:
    assert run(tmp_path, script) == {"score": None, "words": words}


def test_where_it_is_not_installed_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(teb.sys, "executable", str(tmp_path / "python"))
    with pytest.raises(
        UsageError, match=r"--teb: tool-eval-bench is not installed; pip install 'factory-floor\[teb\]'"
    ):
        teb.program()
    (tmp_path / "tool-eval-bench").touch(mode=0o755)
    assert teb.program() == str(tmp_path / "tool-eval-bench")
