"""Stories of tests/cases/watchdog: what is seen from a time on, and what is done when.

A step holds until the next one; the watchdog looks every 20 s. `acts` names every act of the story by its time, `why`
the reason of the last look of a step, `alarm` whether a person was to be told then.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from floor.watchdog.decide import Action, decide
from floor.watchdog.memory import Memory, as_json, from_json
from tests.unit.watchdog.words import COPY, box, seen

CASES = Path(__file__).parents[2] / "cases/watchdog"
EVERY, PER_HOUR = 20, 3


def stories() -> Iterator[Any]:
    for path in sorted(CASES.glob("*.yaml")):
        for story in yaml.safe_load(path.read_text()):
            yield pytest.param(story, id=f"{path.stem}: {story['story']}")


@pytest.mark.parametrize("story", list(stories()))
def test_story(story: dict[str, Any]) -> None:
    copy = replace(COPY, **story.get("copy", {}))
    memory, acts, words = Memory(), {}, {}
    steps = story["steps"]
    for number, step in enumerate(steps):
        words = words | {key: value for key, value in step.items() if key not in ("at", "why", "alarm", "says")}
        ends = steps[number + 1]["at"] if number + 1 < len(steps) else step["at"] + EVERY
        for at in range(step["at"], ends, EVERY):
            memory, decision = decide(memory, seen(words, float(at)), box(words), copy, PER_HOUR)
            memory = from_json(as_json(memory))  # a run is a process of its own
            if decision.action is not Action.NONE:
                acts[at] = str(decision.action)
        assert decision.reason == step.get("why", decision.reason), f"at {at}: {decision}"
        assert decision.alarm == step.get("alarm", decision.alarm), f"at {at}: {decision}"
        assert step.get("says", "") in decision.evidence
    assert acts == story.get("acts", {})
