"""The same faults with records that lie on a disk, kept by the agent's own calls."""

from __future__ import annotations

import pytest

from tests.model import commands, faults
from tests.model.on_disk import CallsOnDisk
from tests.model.stories import STORIES
from tests.model.test_two_boxes import FAULTS, GENTLE, moments
from tests.model.trial import overtaken_at, tried, undisturbed
from tests.simulated import box
from tests.simulated.situation import Situation

STORY = "rolling change"


@pytest.fixture
def on_disk(situation: Situation, monkeypatch: pytest.MonkeyPatch) -> Situation:
    monkeypatch.setattr(box, "answering", CallsOnDisk)
    return situation


@pytest.mark.parametrize("fault", FAULTS)
def test_at_every_sixth_call(on_disk: Situation, fault: str) -> None:
    run = undisturbed(STORIES[STORY], on_disk)
    for at, after in list(moments(fault, run.asked))[::6]:
        found = tried(STORIES[STORY], on_disk, run, FAULTS[fault], at, after=after, gentle=fault in GENTLE)
        assert found == [], f"{fault} {'after' if after else 'before'} call {at} of {len(run.asked)}"


def test_asleep_while_another_file_is_deployed(on_disk: Situation) -> None:
    run = undisturbed(STORIES[STORY], on_disk)
    fault = faults.overtaken(commands.deploy, lambda other: other.edit("max_requests: 13", "max_requests: 14"))
    for at in range(1, len(run.asked) + 1, 6):
        assert overtaken_at(STORIES[STORY], on_disk, fault, commands.deploy, at) == [], f"asleep before call {at}"
