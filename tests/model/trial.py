"""One command with one fault at one of its calls, and what must hold whatever happens."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import partial

from tests.model.commands import KILLED, Command, deploy, forced
from tests.model.faults import LEASE, Fault
from tests.model.stories import Story
from tests.model.wanted import differences
from tests.simulated.caller import Caller
from tests.simulated.engines import engine
from tests.simulated.situation import Situation

ENDS = {0, 1, 4, 5, KILLED}  # exit codes of a command that something happened to


@dataclass(frozen=True)
class Run:
    """A command to which nothing happens: the boxes it calls, one after the other, and what it starts on each."""

    asked: list[str]
    begun: list[tuple[str, int, int]]


def undisturbed(story: Story, situation: Situation) -> Run:
    """Prepare the story, and return how its command goes when nothing happens."""
    story.prepare(situation)
    whole = copy.deepcopy(situation)
    whole.fate = whole.caller = Caller(0)
    assert story.command(whole) == 0, whole.said
    assert story.ends(whole) == []
    return Run(whole.caller.asked, begun(whole))


def tried(
    story: Story, prepared: Situation, run: Run, fault: Fault, at: int, *, after: bool, gentle: bool = True
) -> list[str]:
    """Run the story's command with `fault` at a call, then again as a person would. Return what is wrong, in words.

    A fault that is not `gentle` ends requests and engines by itself.
    """
    situation = copy.deepcopy(prepared)
    world = situation.world
    world.guarded = story.guarded
    situation.fate = Caller(0, at, after, partial(fault, situation))
    code = story.command(situation)
    if code not in ENDS:
        return [f"ends with {code}: {situation.said[-1:]}"]
    # a box knows that it is done: the same command is another one
    told = bool(world.log) and world.log[-1].endswith(" operation.release")
    told = told or (story.once and any(box.record and box.record["state"] == "done" for box in world.boxes.values()))
    world.sleep(LEASE + 50, 10)
    if code == 0 and (found := story.ends(situation)):
        return [*world.wrong, *(f"says that it is done, but {one}" for one in found)]
    if code and (code := story.command(situation)) != 0:
        return [*world.wrong, f"run again it ends with {code}: {situation.said[-3:]}"]
    found = [*world.wrong, *story.ends(situation)]
    if gentle:
        found += [f"a request on {name} was cut" for name in world.cut]
        found += [
            f"started {one}, not {other}"
            for one, other in zip(begun(situation), run.begun, strict=True)
            if one != other and not told
        ]
    return found + ([] if story.once else _left_over(story, situation))


def _left_over(story: Story, situation: Situation) -> list[str]:
    """What the command still does when it is done."""
    before = begun(situation)
    return [] if story.command(situation) == 0 and before == begun(situation) else ["done, it is not nothing to do"]


def begun(situation: Situation) -> list[tuple[str, int, int]]:
    """Of each box: its name, how many engines were started on it, and how often it was rebooted."""
    boxes = situation.world.boxes.values()
    return [(box.name, sum(map(engine, box.starts)), box.reboots) for box in boxes]


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
