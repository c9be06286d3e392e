"""Stories of tests/cases/pool/decide: what is seen at a time, and who is in then.

A backend's word is a reason (`ok` where none is given), with a unit `active` of run 1 unless it says otherwise; `until`
repeats a step twice a second. A backend that a step does not name is as in the step before; a step without `in` is not
looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from floor.pool.decide import decide
from floor.pool.memory import Memory
from tests.unit.pool.words import seen

CASES = Path(__file__).parents[2] / "cases/pool/decide"


def stories() -> Iterator[Any]:
    for path in sorted(CASES.glob("*.yaml")):
        for story in yaml.safe_load(path.read_text()):
            yield pytest.param(story, id=f"{path.stem}: {story['story']}")


def moments(step: dict[str, Any]) -> Iterator[float]:
    at = float(step["at"])
    while at <= step.get("until", step["at"]):
        yield at
        at += 0.5


@pytest.mark.parametrize("story", list(stories()))
def test_story(story: dict[str, Any]) -> None:
    members = story["members"]
    names = sorted({key for step in story["steps"] for key in step if key not in ("at", "until", "in")} | set(members))
    memories = {name: Memory(member=name in members, served="run-1" if name in members else "") for name in names}
    words: dict[str, Any] = {}
    for step in story["steps"]:
        words |= {name: step[name] for name in names if name in step}
        for at in moments(step):
            now = {n: seen(n, words[n], at, managed=n not in story.get("unmanaged", ())) for n in names}
            memories, decisions = decide(memories, now, at)
            found = [name for name, decision in decisions.items() if decision.member]
            assert found == step.get("in", found), f"at {at}: {decisions}"
