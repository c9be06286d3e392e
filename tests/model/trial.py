"""One command with one fault at one of its calls, and what must hold whatever happens."""

from __future__ import annotations

import copy
from functools import partial

from tests.model.commands import KILLED, Command, deploy, forced
from tests.model.faults import LEASE, Fault
from tests.model.stories import Story
from tests.model.wanted import differences
from tests.simulated.caller import Caller
from tests.simulated.situation import Situation

ENDS = {0, 1, 4, 5, KILLED}  # exit codes of a command that something happened to


def calls(story: Story, situation: Situation) -> list[str]:
    """Prepare the story, and return which boxes its command calls, one after the other, when nothing happens."""
    story.prepare(situation)
    whole = copy.deepcopy(situation)
    whole.fate = whole.caller = Caller(0)
    assert story.command(whole) == 0, whole.said
    assert story.ends(whole) == []
    return whole.caller.asked


def tried(story: Story, prepared: Situation, fault: Fault, at: int, *, after: bool, gentle: bool = True) -> list[str]:
    """Run the story's command with `fault` at a call, then again as a person would. Return what is wrong, in words.

    A fault that is not `gentle` ends requests by itself.
    """
    situation = copy.deepcopy(prepared)
    world = situation.world
    world.guarded = story.guarded
    situation.fate = Caller(0, at, after, partial(fault, situation))
    code = story.command(situation)
    if code not in ENDS:
        return [f"ends with {code}: {situation.said[-1:]}"]
    world.sleep(LEASE + 50, 10)
    if code == 0 and (found := story.ends(situation)):
        return [f"says that it is done, but {one}" for one in found]
    if (code := story.command(situation)) != 0:
        return [*world.wrong, f"run again it ends with {code}: {situation.said[-3:]}"]
    starts = [list(box.starts) for box in world.boxes.values()]
    found = [*world.wrong, *story.ends(situation), *(f"a request on {name} was cut" for name in world.cut if gentle)]
    if story.command(situation) != 0 or (
        "restart" not in story.command.__name__ and starts != [list(box.starts) for box in world.boxes.values()]
    ):
        found.append("done, it is not nothing to do")
    return found


def overtaken_at(story: Story, prepared: Situation, fault: Fault, by: Command, at: int) -> list[str]:
    """Run the story's command, which sleeps at a call while `by` is brought to its end. Return what is wrong."""
    situation = copy.deepcopy(prepared)
    world = situation.world
    world.guarded = story.guarded
    situation.fate = Caller(0, at, then=partial(fault, situation))
    code = story.command(situation)
    found = [*world.wrong, *(f"a request on {name} was cut" for name in world.cut)]
    if code not in (0, 1, 4, 5):
        found.append(f"ends with {code}: {situation.said[-1:]}")
    world.sleep(LEASE + 50, 10)
    last, ends = situation.other, differences if by is deploy else story.ends
    if not situation.caller.stale and code == 0:  # it looked and began only after the other one: the last word is its
        last, ends = situation if story.command in (deploy, forced) else situation.other, story.ends
    assert last is not None
    return [*found, *ends(last)]
