"""Whatever happens at whichever call of a command: nothing is taken away, and the same command finishes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.model import faults
from tests.model.stories import STORIES
from tests.model.trial import tried, undisturbed
from tests.simulated.situation import Situation

FAULTS = {
    "killed": faults.killed,
    "lost": faults.lost,
    "away for a moment": faults.away_for_a_moment,
    "away": faults.away,
    "power cut": faults.power_cut,
    "slept": faults.slept,
}
GENTLE = {"killed", "lost", "slept"}
LONG = 130  # calls
BOXES = {"away for a moment", "away", "power cut"}


def moments(fault: str, asked: list[str]) -> Iterator[tuple[int, bool]]:
    """When a fault makes a difference: the number of each call, and whether it is after the call took effect.

    What happens to the process, or to the same box, is the same after a call as before the next one. Of long commands
    every third call is taken, another third for another fault: they are made of the same steps as the short ones.
    """
    first, step = (list(FAULTS).index(fault) % 3, 3) if len(asked) > LONG else (0, 1)
    for at in range(1 + first, len(asked) + 1, step):
        yield at, True
        if at == 1 or (fault in BOXES and asked[at - 1] != asked[at - 2]):
            yield at, False


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("story", STORIES)
def test_at_every_call(situation: Situation, story: str, fault: str) -> None:
    run = undisturbed(STORIES[story], situation)
    for at, after in moments(fault, run.asked):
        found = tried(STORIES[story], situation, run, FAULTS[fault], at, after=after, gentle=fault in GENTLE)
        assert found == [], f"{story}, {fault} {'after' if after else 'before'} call {at} of {len(run.asked)}"
