"""An operation that is killed, or loses a box, at any of its calls: the same command finishes, and somebody serves."""

from __future__ import annotations

import contextlib
import copy
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import pytest

from floor.errors import FloorError
from tests.simulated.situation import ONE_BOX, THREE_BOXES, Situation, configured

Verb = Callable[[Situation], bool]


@dataclass(frozen=True)
class Story:
    """What is there, what is asked for, and how many must answer at every moment behind every proxy box."""

    prepare: Callable[[Situation], None]
    verb: Verb
    fewest: int
    starts: dict[str, int]  # of flagship, by box, in the end


def _rolling(situation: Situation) -> None:
    situation.deploy()
    situation.edit("max_requests: 12", "max_requests: 13")


def _ports(situation: Situation) -> None:
    situation.deploy()
    situation.edit("max_requests: 12", "port: 8005")


def _move(situation: Situation) -> None:
    situation.text = THREE_BOXES
    situation.deploy()
    situation.edit("replicas: [spark-a, spark-b]", "replicas: [spark-a, spark-c]")


def _one(situation: Situation) -> None:
    situation.text = ONE_BOX
    situation.deploy()
    situation.edit("max_requests: 12", "max_requests: 13")


def _nothing(_situation: Situation) -> None:
    return


def _deployed(situation: Situation) -> None:
    situation.deploy()


STORIES = {
    "first deployment": Story(_nothing, Situation.deploy, 0, {"spark-a": 1, "spark-b": 1}),
    "rolling change": Story(_rolling, Situation.deploy, 1, {"spark-a": 2, "spark-b": 2}),
    "other port": Story(_ports, Situation.deploy, 1, {"spark-a": 2, "spark-b": 2}),
    "move": Story(_move, Situation.deploy, 2, {"spark-a": 1, "spark-b": 1, "spark-c": 1}),
    "restart": Story(_deployed, Situation.restart, 1, {"spark-a": 2, "spark-b": 2}),
    "one box, forced": Story(_one, lambda situation: situation.deploy(force=True), 0, {"spark-a": 2}),
}


@pytest.fixture(params=STORIES)
def story(request: pytest.FixtureRequest) -> Story:
    return STORIES[request.param]


def watched(situation: Situation) -> list[int]:
    """How many answer at each moment from now on, behind the proxy box where that is fewest."""
    fewest: list[int] = []
    world = situation.world
    proxies = configured(situation.text).proxy.boxes
    world.watch = lambda: fewest.append(min(len(world.answering(box)) for box in proxies if box in world.boxes))
    return fewest


def as_wanted(situation: Situation) -> None:
    """All copies are in every pool, nothing is left to do, and no request was cut."""
    wanted = {copy.backend for copy in configured(situation.text).copies("flagship")}
    situation.world.sleep(3)
    assert situation.members() == [wanted] * len(configured(situation.text).proxy.boxes)
    assert not situation.deploy()
    assert situation.world.cut == []


def test_killed_at_any_call_the_same_command_finishes(situation: Situation, story: Story) -> None:
    """What is left is taken over at once, or when its lease has lapsed."""
    story.prepare(situation)
    situation.site()
    fewest = watched(situation)
    killed = situation.at_each_call(story.verb)
    assert min(fewest) >= story.fewest
    ends = len(configured(situation.text).boxes)  # the last calls give the boxes back: the work is done by then
    for at, left in enumerate(killed[: len(killed) - ends], start=1):
        if at % 2 and story.verb is not Situation.restart:
            left.world.sleep(100)
        fewest = watched(left)
        story.verb(left)
        assert min(fewest, default=2) >= story.fewest, f"too few served when killed at call {at}"
        assert {box: left.starts(box) for box in story.starts} == story.starts, f"killed at call {at}"
        as_wanted(left)


@pytest.mark.parametrize("seconds", [20, 120])
def test_a_box_out_of_reach_at_any_call_for_a_while(situation: Situation, story: Story, seconds: float) -> None:
    """For a moment: the operation waits. For longer: it ends, and the same command finishes when the box is back."""
    for trial in trials(situation, story):
        world = trial.world
        world.then = partial(world.cut_off, seconds=seconds)
        with contextlib.suppress(FloorError):
            story.verb(trial)
        world.at = None
        world.sleep(150)
        for _ in range(2):
            with contextlib.suppress(FloorError):
                story.verb(trial)
        as_wanted(trial)


def test_a_power_cut_at_any_call_and_the_same_command_converges(situation: Situation, story: Story) -> None:
    for trial in trials(situation, story):
        world = trial.world
        world.then, world.after = world.power_cut, True
        with contextlib.suppress(FloorError):
            story.verb(trial)
        world.at = None
        world.sleep(100)
        story.verb(trial)
        as_wanted(trial)


def trials(situation: Situation, story: Story, every: int = 11) -> Iterator[Situation]:
    """A copy of the situation for every few calls at which something is to happen."""
    story.prepare(situation)
    whole = copy.deepcopy(situation)
    whole.site()
    whole.world.calls = 0
    assert story.verb(whole)
    for at in range(random.Random(0).randint(1, every), whole.world.calls + 1, every):  # noqa: S311 # not for secrets
        trial = copy.deepcopy(situation)
        trial.world.calls, trial.world.at = 0, at
        yield trial
