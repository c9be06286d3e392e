"""Whatever happens at whichever call of a command: nothing is taken away, and the same command finishes."""

from __future__ import annotations

import pytest

from tests.model import faults
from tests.model.stories import STORIES
from tests.model.trial import calls, tried
from tests.simulated.situation import Situation

BEFORE, AFTER = (False,), (True,)
# What ends the process, or passes time, after a call, is the same as before the next one.
FAULTS = {
    "killed": (faults.killed, AFTER),
    "lost": (faults.lost, BEFORE + AFTER),
    "away for a moment": (faults.away_for_a_moment, BEFORE),
    "away": (faults.away, BEFORE),
    "power cut": (faults.power_cut, BEFORE + AFTER),
    "slept": (faults.slept, BEFORE),
}
GENTLE = {"killed", "lost", "slept"}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("story", STORIES)
def test_at_every_call(situation: Situation, story: str, fault: str) -> None:
    count = calls(STORIES[story], situation)
    happens, moments = FAULTS[fault]
    for at, after in ((at, after) for at in range(1, count + 1) for after in moments):
        found = tried(STORIES[story], situation, happens, at, after=after, gentle=fault in GENTLE)
        assert found == [], f"{story}, {fault} {'after' if after else 'before'} call {at} of {count}"
