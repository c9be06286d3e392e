"""Copies that the guard keeps down: whatever would start one is refused, until there is room or somebody insists."""

from __future__ import annotations

import re
from dataclasses import asdict

import pytest

from floor.box import holds
from floor.errors import RefusedError
from floor.plan.steps import abreast
from tests.simulated.situation import SPLIT, Situation

UNIT, PART, GIB = "floor-copy-flagship.service", "floor-group-flagship.service", 1 << 30
HELD = (
    "spark-b: flagship@spark-b: the guard keeps it down, until there is room for it again, `floor guard release` or "
    "another launch: 2.9 GiB are left; see `floor guard status`, or start it all the same with --force"
)


def hold(situation: Situation, *, available: int, lasting: bool = False, launch: str | None = None) -> None:
    """The guard of spark-b took its copy down, which wanted 50 GiB; so much is available since then."""
    box = situation.box("spark-b")
    launch = box.processes[UNIT].digest if launch is None else launch
    box.lose(UNIT)
    box.holds[UNIT] = asdict(holds.Hold(UNIT, "2.9 GiB are left", launch, 1.0, 50 * GIB, lasting))
    box.facts = {**box.facts, "memory": {"total": 128 * GIB, "available": available}}
    situation.world.sleep(2)


def changed(situation: Situation) -> list[str]:
    """The calls that changed something since the last look at the log, by their names."""
    looks = ("observe", "nginx.test", "launch.check", "launch.trial", "foreign.look", "fabric.look", "address.look")
    found = [line.split()[1] for line in situation.world.log]
    situation.world.log.clear()
    return [name for name in found if name not in looks]


def test_a_deployment_is_refused_before_anything_is_touched(deployed: Situation) -> None:
    hold(deployed, available=52 * GIB)  # room for it, and not for what is to stay free beside it
    changed(deployed)
    with pytest.raises(RefusedError, match=f"^{re.escape(HELD)}$") as refused:
        deployed.deploy()
    assert refused.value.exit_code == 5
    assert changed(deployed) == []


def test_a_dry_run_says_so(deployed: Situation) -> None:
    hold(deployed, available=3 * GIB)
    found = deployed.deploy_all(dry_run=True)
    assert found.plan.notes[-1] == (
        "flagship@spark-b is kept down by the guard on spark-b, so this is refused without --force"
    )


def test_with_room_for_it_the_plan_says_that_the_hold_ends(deployed: Situation) -> None:
    hold(deployed, available=58 * GIB)
    assert deployed.deploy()
    why = "there is room for it again: 58.0 GiB are available"
    assert f"  spark-b: end the guard's hold of flagship@spark-b   [{why}]" in deployed.said
    assert deployed.members() == [{"flagship@spark-a", "flagship@spark-b"}] * 2


@pytest.mark.parametrize("lasting", [True, False])
def test_forced_it_starts(deployed: Situation, lasting: bool) -> None:
    hold(deployed, available=3 * GIB, lasting=lasting)
    assert deployed.deploy(force=True)
    assert "  spark-b: end the guard's hold of flagship@spark-b   [--force]" in deployed.said
    assert deployed.starts("spark-b") == 2


def test_one_that_only_a_person_ends_stays_whatever_room_there_is(deployed: Situation) -> None:
    hold(deployed, available=120 * GIB, lasting=True)
    with pytest.raises(RefusedError, match="keeps it down, until `floor guard release` or another launch: "):
        deployed.deploy()


def test_another_launch_is_another_engine(deployed: Situation) -> None:
    hold(deployed, available=3 * GIB, lasting=True)
    deployed.edit("max_requests: 12", "max_requests: 13")
    assert deployed.deploy()
    assert deployed.starts("spark-b") == 2


def test_a_changed_file_does_not_let_a_restart_pass(deployed: Situation) -> None:
    """A restart starts what lies there, which is what was taken down."""
    hold(deployed, available=3 * GIB)
    deployed.edit("max_requests: 12", "max_requests: 13")
    changed(deployed)
    with pytest.raises(RefusedError, match=re.escape(HELD)):
        deployed.restart()
    assert changed(deployed) == []
    with pytest.raises(RefusedError, match=re.escape(HELD)):
        deployed.restart("flagship@spark-b")
    assert deployed.restart("flagship@spark-a", force=True)  # the only one left
    assert deployed.starts("spark-a") == 2


def test_a_hold_of_another_launch_does_not_stop_a_restart(deployed: Situation) -> None:
    hold(deployed, available=3 * GIB, launch="0123456789abcdef")
    assert deployed.restart("flagship@spark-b")
    assert deployed.starts("spark-b") == 2


def test_a_reboot_does_not_wait_for_it(deployed: Situation) -> None:
    """It does not start it: a boot may be what brings the memory back."""
    hold(deployed, available=3 * GIB)
    assert deployed.reboot("spark-b")
    assert (
        "note: flagship@spark-b is kept down by the guard: it does not start with its box, and is not waited for"
        in deployed.said
    )
    assert (deployed.starts("spark-b"), deployed.box("spark-b").reboots) == (1, 1)
    assert deployed.members() == [{"flagship@spark-a"}] * 2


def test_what_a_reboot_before_did_not_bring_back_is_missed_by_the_next(deployed: Situation) -> None:
    """The other box has the last one that serves."""
    hold(deployed, available=3 * GIB)
    with pytest.raises(RefusedError, match="last serving copy of flagship"):
        deployed.reboot("spark-b", "spark-a")


def test_one_that_is_taken_down_in_the_middle_is_not_started(deployed: Situation) -> None:
    """What was begun ends with the reason; the same command is refused at once then."""
    deployed.edit("max_requests: 12", "max_requests: 13")
    world, box = deployed.world, deployed.box("spark-b")

    def take_down() -> None:
        if world.log[-1] == "spark-b unit.stop":
            box.holds[UNIT] = asdict(holds.Hold(UNIT, "2.9 GiB are left", "", 1.0, 500 * GIB))

    world.watch = take_down
    with pytest.raises(RefusedError, match=f"^spark-b: {UNIT}: the guard keeps it down"):
        deployed.deploy()
    world.watch = lambda: None
    deployed.members()
    changed(deployed)
    with pytest.raises(RefusedError, match="spark-b: flagship@spark-b: the guard keeps it down"):
        deployed.deploy()
    assert changed(deployed) == []


def test_a_part_of_a_group_that_is_kept_down_keeps_the_switch_from_beginning(deployed: Situation) -> None:
    """Its digest is not told: any launch counts."""
    deployed.text = SPLIT
    assert deployed.deploy()
    box = deployed.box("spark-b")
    box.holds[PART] = asdict(holds.Hold(PART, "2.9 GiB are left", "", 1.0, 500 * GIB))
    changed(deployed)
    with pytest.raises(RefusedError, match=r"^spark-b: flagship@spark-a\+spark-b: the guard keeps it down"):
        deployed.switch("split")
    assert changed(deployed) == []
    assert deployed.switch("split", force=True).changed
    assert deployed.starts("spark-b", PART) == 1


@pytest.mark.parametrize("where", [("spark-a",), ("spark-b",), ("spark-a", "spark-b")])
def test_no_part_starts_beside_the_end_of_a_hold(deployed: Situation, where: tuple[str, ...]) -> None:
    """A start that reads the hold before it is gone is refused, in the middle of a switch."""
    deployed.text = SPLIT
    assert deployed.deploy()
    for name in where:
        deployed.box(name).holds[PART] = asdict(holds.Hold(PART, "2.9 GiB are left", "", 1.0, 500 * GIB))
    plan = deployed.switch("split", force=True, dry_run=True).plan
    lanes = [
        lane for stage in plan.stages for lane in stage.lanes if any(step.call == "guard.release" for step in lane)
    ]
    calls = [[(step.call, step.box) for step in group] for lane in lanes for group in abreast(lane)]
    starts = [("unit.start", "spark-a"), ("unit.start", "spark-b")]
    at = calls.index(starts)
    assert calls[at - 1] == [("guard.release", name) for name in where]
    assert sum(call == "guard.release" for group in calls for call, _ in group) == len(where)
