"""Stories of tests/cases/notify: what is open, and who is told what when."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from floor.notify.decide import NOTHING, PAUSE, Matter, as_json, decide, from_json, unsent

STORIES = yaml.safe_load((Path(__file__).parents[2] / "cases/notify/stories.yaml").read_text())
EVERY, AGAIN, MOST = 30, 3600.0, 4


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story["story"])
def test_story(story: dict[str, Any]) -> None:
    told, sent = NOTHING, {}
    steps = story["steps"]
    for number, step in enumerate(steps):
        ends = steps[number + 1]["at"] if number + 1 < len(steps) else step["at"] + 600
        for at in range(step["at"], ends, EVERY):
            open_now = [Matter(key, f"matter {key}", step.get("after", 0)) for key in step["open"]]
            told, messages = decide(told, open_now, float(at), AGAIN, MOST)
            told = from_json(json.loads(json.dumps(as_json(told))))
            if messages:
                sent[at] = [f"{message.state} {message.key}" for message in messages]
    assert sent == story["sent"]


def test_a_clock_that_was_set_back_forgets_nothing_open() -> None:
    told, _ = decide(NOTHING, [Matter("a", "a")], 1e9, AGAIN, MOST)
    told, messages = decide(told, [Matter("a", "a")], 5e8, AGAIN, MOST)
    assert [message.state for message in messages] == ["new"]
    assert told.open["a"].since == 5e8


def test_what_was_not_sent_is_still_to_be_told() -> None:
    before, _ = decide(NOTHING, [Matter("gone", "gone")], 0.0, AGAIN, MOST)
    new = [Matter(key, key) for key in ("a", "b")]
    after, messages = decide(before, new, 1000.0, AGAIN, MOST)
    assert [(one.state, one.key) for one in messages] == [("new", "a"), ("new", "b"), ("over", "gone")]
    left = unsent(before, after, messages[1:], 1000.0 + PAUSE)
    left = from_json(json.loads(json.dumps(as_json(left))))
    assert left.sent == (0.0, 1000.0)
    resting, messages = decide(left, new, 1000.0 + PAUSE - 1, AGAIN, MOST)
    assert messages == []
    _, messages = decide(resting, new, 1000.0 + PAUSE, AGAIN, MOST)
    assert [(one.state, one.key) for one in messages] == [("new", "b"), ("over", "gone")]
    _, messages = decide(left, new, 500.0, AGAIN, MOST)
    assert messages  # a clock that was set back
