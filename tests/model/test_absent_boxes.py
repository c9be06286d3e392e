"""A box that was away while others were deployed to: what it held answers nobody until a deployment has seen it."""

from __future__ import annotations

import copy

import pytest

from floor.plan import deploy as planner
from tests.model import commands
from tests.model.wanted import differences
from tests.simulated.caller import Caller
from tests.simulated.situation import THREE_BOXES, TWO_BOXES, Situation

UNIT = "floor-copy-flagship.service"


def away(situation: Situation, text: str) -> Caller:
    """Deploy, take the power of spark-b, and edit floor.yaml. Return the process that will deploy that."""
    situation.text = text
    assert situation.deploy()
    situation.world.power_cut("spark-b", 1e9)
    situation.edit("max_requests: 12", "max_requests: 13")
    situation.fate = Caller(0)
    return situation.fate


def missed(situation: Situation, at: int) -> list[str]:
    """Deploy without spark-b, which boots at a call of that; then once more with it. Return what is wrong."""
    box, world = situation.box("spark-b"), situation.world
    caller = situation.fate
    assert caller is not None
    text = box.text(f"/etc/systemd/system/{UNIT}") or ""
    old = next(digest for digest in world.launches if f"FLOOR_LAUNCH={digest}" in text)
    caller.at, caller.then = at, lambda _box: setattr(box, "back_at", world.now)
    code = commands.forced(situation)
    if code == 0:  # it was there before anybody looked
        return differences(situation)
    found = [f"ends with {code}: {situation.said[-1:]}"] if code not in (1, 5) else []
    world.banned = frozenset({("flagship@spark-b", old)}) if code == 1 else frozenset()
    if box.off:
        box.back_at = world.now
    for _ in range(40):
        world.sleep(1)
        world.look_for_banned("later")
    if (code := commands.forced(situation)) != 0:
        found.append(f"run again it ends with {code}: {situation.said[-2:]}")
    return [*found, *world.wrong, *differences(situation)]


@pytest.mark.parametrize("text", [TWO_BOXES, THREE_BOXES.replace("[spark-a, spark-b]}", "[spark-a, spark-c]}")])
def test_its_old_build_answers_nobody_whenever_it_boots(situation: Situation, text: str) -> None:
    """It is a proxy itself, or others are."""
    away(situation, text)
    whole = copy.deepcopy(situation)
    assert commands.forced(whole) == 1
    for at in (*range(1, len(whole.caller.asked) + 1), 10_000):
        assert missed(copy.deepcopy(situation), at) == [], f"boots at call {at} of {len(whole.caller.asked)}"


def test_it_is_found_where_absent_boxes_are_forgotten(situation: Situation, monkeypatch: pytest.MonkeyPatch) -> None:
    away(situation, TWO_BOXES)
    monkeypatch.setattr(planner, "plan_absent", lambda *_given: [])
    assert missed(situation, 10_000)
