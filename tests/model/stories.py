"""What is there, which command is given, and how it must be in the end."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from floor.operations.swap_edit import Wish
from tests.model import commands
from tests.model.wanted import differences, out_of_pools
from tests.simulated.caller import Caller
from tests.simulated.situation import ONE_BOX, SPLIT, THREE_BOXES, TWO_BOXES, Situation

SECOND = """\
  second:
    source: /models/second
    utilization: 0.3
    port: 8001
    listen: 8081
    runtime: {kind: docker, image: "registry.example/vllm:v1"}
    replicas: [spark-a, spark-b]
"""
LARGE = TWO_BOXES.replace("utilization: 0.4", "utilization: 0.7")  # two of them do not fit on a box
TWO_MODELS = TWO_BOXES.replace("proxy:", f"{SECOND}proxy:")


SWITCHED = SPLIT.replace("proxy:", f"{SECOND}proxy:").replace("utilization: 0.3", "utilization: 0.2")


@dataclass(frozen=True)
class Story:
    """`prepare` brings the boxes to where `command` begins; `ends` tells what is not as it must be in the end.

    A command that is `once` does its work again when it is given again after it was done.
    """

    prepare: Callable[[Situation], None]
    command: commands.Command
    ends: Callable[[Situation], list[str]] = differences
    guarded: frozenset[str] = frozenset({"flagship"})
    once: bool = False


def deployed(text: str, old: str = "", new: str = "") -> Callable[[Situation], None]:
    """Deploy a file, then edit it."""

    def prepare(situation: Situation) -> None:
        situation.text = text
        assert situation.deploy()
        if old:
            situation.edit(old, new)

    return prepare


def _nothing(_situation: Situation) -> None:
    return


def _drained(situation: Situation) -> None:
    deployed(TWO_BOXES)(situation)
    assert commands.drained(situation) == 0


def _half(situation: Situation) -> None:
    """A file of two models, of which a deployment of the first one alone is there, with a person's drain."""
    _drained(situation)
    situation.text = TWO_MODELS
    keep_drains(situation)


def keep_drains(situation: Situation) -> None:
    """From now on no call may end what people drained."""
    world = situation.world
    world.kept = frozenset(
        (box.name, backend, drain.holder)
        for box in world.boxes.values()
        for backend, held in box.recorded.items()
        for drain in held
        if drain.epoch is None
    )


def _all_anew(situation: Situation) -> list[str]:
    once = [f"{box} did not restart" for box in ("spark-a", "spark-b") if situation.starts(box) < 2]
    return once + differences(situation)


def _all_booted(situation: Situation) -> list[str]:
    same = [f"{box.name} did not boot" for box in situation.world.boxes.values() if box.boot == "boot-1"]
    return same + differences(situation)


def _left(situation: Situation) -> None:
    """A deployment that was killed with one of the copies changed and the other one on its way."""
    deployed(TWO_BOXES, "max_requests: 12", "max_requests: 13")(situation)
    _killed_before(situation, commands.deploy, "spark-b", "memory.wait")
    assert (situation.starts("spark-a"), situation.starts("spark-b")) == (2, 1)


def split(situation: Situation) -> None:
    """Two boxes in mode split, and a model beside it that is not."""
    deployed(SWITCHED)(situation)
    assert commands.switched("split")(situation) == 0


def _between(mode: str) -> Callable[[Situation], None]:
    """A switch to `mode` that was killed with one box in each mode."""

    def prepare(situation: Situation) -> None:
        (split if mode == "replicas" else deployed(SWITCHED))(situation)
        _killed_before(situation, commands.switched(mode), "spark-b", "mode.put")
        modes = {box.text("/etc/floor/mode") for box in situation.world.boxes.values()}
        assert len(modes) == 2, modes

    return prepare


def _killed_before(situation: Situation, command: Callable[[Situation], int], box: str, call: str) -> None:
    """Let `command` run until its process is killed just before it makes such a call of a box for the first time."""
    whole = copy.deepcopy(situation)
    whole.world.log.clear()
    whole.fate = Caller(0)
    assert command(whole) == 0
    at = _called(whole).index((box, call)) + 1
    situation.fate = Caller(0, at, then=lambda _box: situation.caller.kill())
    assert command(situation) == commands.KILLED


def _called(situation: Situation) -> list[tuple[str, str]]:
    return [(box, call) for box, call in (line.split() for line in situation.world.log)]


PARSER = Wish(args=["tool-call-parser=hermes"])


def _untested(word: str) -> Callable[[Situation], None]:
    """Two copies, and another build that must not answer anybody before it has passed; its test says `word`."""

    def prepare(situation: Situation) -> None:
        deployed(TWO_BOXES)(situation)
        stages = situation.swap("flagship", PARSER, dry_run=True).plan.stages
        steps = [step.params for stage in stages for step in stage.steps if step.call == "tooltest.run"]
        new = {step["backend"]: step["launch"] for step in steps if step["tier"] != "baseline"}
        assert len(new) == 2, new
        situation.world.banned = frozenset(new.items())
        situation.world.verdicts = dict.fromkeys(new.values(), word)

    return prepare


def _live(situation: Situation) -> list[str]:
    return ([] if "hermes" in situation.text else ["floor.yaml has the old build"]) + differences(situation)


def _gone_back(situation: Situation) -> list[str]:
    return _as_before(situation) + (["floor.yaml has the new build"] if "hermes" in situation.text else [])


def _as_before(situation: Situation) -> list[str]:
    return differences(Situation(situation.world, TWO_BOXES))


def _out(situation: Situation) -> list[str]:
    world = situation.world
    return [f"still in {box}'s pool" for box in world.boxes if "flagship@spark-b" in world.members(box)]


def _gone(situation: Situation) -> list[str]:
    box = situation.box("spark-b")
    return [f"{what} is left" for what in (*box.files, *box.processes, *box.enabled)]


STORIES = {
    "swap": Story(_untested("PASS"), commands.swapped(PARSER), _live),
    "swap that is blocked": Story(_untested("BLOCK"), commands.blocked(PARSER), _gone_back, once=True),
    "first deployment": Story(_nothing, commands.deploy),
    "rolling change": Story(deployed(LARGE, "max_requests: 12", "max_requests: 13"), commands.deploy),
    "other port": Story(deployed(TWO_BOXES, "max_requests: 12", "port: 8005"), commands.deploy),
    "copy moves": Story(
        deployed(THREE_BOXES, "replicas: [spark-a, spark-b]", "replicas: [spark-a, spark-c]"), commands.deploy
    ),
    "box is added": Story(
        deployed(ONE_BOX, ONE_BOX, TWO_BOXES),
        commands.deploy,
    ),
    "model is added, a person drained": Story(_half, commands.deploy),
    "model is removed": Story(deployed(TWO_MODELS, SECOND, ""), commands.forced),
    "another model in its place": Story(
        deployed(LARGE, "flagship:", "successor:"), commands.forced, guarded=frozenset({"successor"})
    ),
    "two models change": Story(
        deployed(TWO_MODELS, "vllm:v1", "vllm:v2"), commands.deploy, guarded=frozenset({"flagship", "second"})
    ),
    "one box, forced": Story(
        deployed(ONE_BOX, "max_requests: 12", "max_requests: 13"), commands.forced, guarded=frozenset()
    ),
    "restart": Story(deployed(TWO_BOXES), commands.restarted, _all_anew, once=True),
    "reboot": Story(deployed(TWO_BOXES), commands.rebooted, _all_booted, once=True),
    "abort": Story(_left, commands.aborted, _as_before),
    "to split": Story(
        deployed(SWITCHED), commands.switched("split"), partial(differences, mode="split"), frozenset({"second"})
    ),
    "to replicas": Story(split, commands.switched("replicas"), guarded=frozenset({"second"})),
    "back to replicas": Story(_between("split"), commands.switched_back, guarded=frozenset({"second"})),
    "back to split": Story(
        _between("replicas"), commands.switched_back, partial(differences, mode="split"), frozenset({"second"})
    ),
    "drain": Story(deployed(TWO_BOXES), commands.drained, _out),
    "undrain": Story(_drained, commands.undrained, out_of_pools),
    "remove": Story(deployed(TWO_BOXES), commands.removed, _gone),
}
