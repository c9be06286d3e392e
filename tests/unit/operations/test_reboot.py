"""`floor reboot`: which boxes, in which order, where it goes on, and what it refuses."""

from __future__ import annotations

import pytest

from floor.apply.transport import FailedError
from floor.errors import BoxError, BusyError, FloorError, RefusedError, UsageError
from floor.operations import reboot
from floor.plan.reboot import BOOT_SECONDS
from tests.simulated.calls import Calls
from tests.simulated.situation import ONE_BOX, THREE_BOXES, Situation
from tests.simulated.world import BOOT_SECONDS as BOOTS

BOTH = {"flagship@spark-a", "flagship@spark-b"}
BOXES = ("spark-a", "spark-b")


def outcome(situation: Situation, *boxes: str, dry_run: bool = False, force: bool = False) -> reboot.Outcome:
    given = situation.site(), boxes, situation.said.append, situation.progress.append
    return reboot.reboot(*given, dry_run=dry_run, force=force)


def reboots(situation: Situation) -> list[int]:
    """How often each box was rebooted."""
    return [situation.box(name).reboots for name in BOXES]


def test_both_boxes_one_after_the_other_and_no_request_is_cut(deployed: Situation) -> None:
    served: list[int] = []
    world = deployed.world
    world.watch = lambda: served.append(max(len(world.answering(box)) for box in BOXES))
    found = outcome(deployed, "spark-b", "spark-a")
    assert (found.changed, found.complete) == (True, True)
    assert reboots(deployed) == [1, 1]
    assert min(served) >= 1
    assert world.cut == []
    assert deployed.members() == [BOTH, BOTH]
    assert [line for line in deployed.said if not line.startswith(" ")] == [
        "note: spark-a is a proxy: who uses its own address gets no answer until it is back",
        "note: spark-b is a proxy: who uses its own address gets no answer until it is back",
        "reboot spark-a",
        "reboot spark-b",
        "done",
    ]
    assert [box.record["state"] for box in world.boxes.values() if box.record] == ["done", "done"]
    assert not deployed.deploy()


def test_a_dry_run_only_looks(deployed: Situation) -> None:
    found = outcome(deployed, "spark-a", dry_run=True)
    assert found.pending
    assert {line.split()[1] for line in deployed.world.log} == {"observe"}
    assert found.lines()[:2] == ["1. reboot spark-a", "   spark-a: drain flagship@spark-a   [asked for]"]
    assert reboots(deployed) == [0, 0]


def test_again_it_is_another_reboot(deployed: Situation) -> None:
    assert deployed.reboot("spark-a")
    assert deployed.reboot("spark-a")
    assert reboots(deployed) == [2, 0]


def test_killed_at_any_call_no_box_is_rebooted_twice(deployed: Situation) -> None:
    killed = deployed.at_each_call(lambda situation: situation.reboot(*BOXES))
    for left in killed[:-1]:  # the last call gives the second box back: the other says already that it is done
        left.world.sleep(200)
        left.reboot(*BOXES)
        assert reboots(left) == [1, 1]
        assert left.members() == [BOTH, BOTH]
        assert left.world.cut == []
        assert [box.record["state"] for box in left.world.boxes.values() if box.record] == ["done", "done"]


def test_killed_while_the_box_is_down_it_waits_for_it(deployed: Situation) -> None:
    killed = deployed.at_each_call(lambda situation: situation.reboot("spark-a"))
    left = next(left for left in killed if reboots(left) == [1, 0])
    assert not left.box("spark-a").up
    left.reboot("spark-a")
    assert "  spark-a: on the way up, trying again" in left.progress
    assert reboots(left) == [1, 0]
    assert left.members() == [BOTH, BOTH]


def test_a_lost_answer_reboots_once(deployed: Situation) -> None:
    """The order took effect and nobody heard of it: it is given again when the box is up, and ends nothing."""
    world = deployed.world
    lost = []

    def watch() -> None:
        if world.log[-1] == "spark-a box.reboot" and not lost:
            lost.append(True)
            raise FloorError("killed")

    world.watch = watch
    with pytest.raises(FloorError, match="killed"):
        outcome(deployed, "spark-a")
    world.watch = lambda: None
    outcome(deployed, "spark-a")
    assert reboots(deployed) == [1, 0]


def test_a_box_that_does_not_come_back_stops_it_and_the_rest_stays(deployed: Situation) -> None:
    box = deployed.box("spark-a")
    deployed.world.watch = lambda: setattr(box, "back_at", None) if box.reboots else None
    with pytest.raises(
        BoxError, match=r"spark-a did not come back within 15 min, the rest stays as it was: spark-a: no"
    ):
        outcome(deployed, *BOXES)
    assert reboots(deployed) == [1, 0]
    assert deployed.members()[1] == {"flagship@spark-b"}


def test_a_box_that_cannot_do_it_says_why_and_soon(deployed: Situation, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise FailedError("spark-a: the box does not reboot: systemd-run: no bus")

    monkeypatch.setattr(Calls, "box_reboot", fails)
    began = deployed.world.now
    with pytest.raises(FailedError, match="systemd-run: no bus"):
        outcome(deployed, "spark-a")
    assert "  spark-a: the box does not reboot: systemd-run: no bus, trying again" in deployed.progress
    assert deployed.world.now - began < 300
    deployed.world.sleep(200)
    assert deployed.members() == [BOTH, BOTH]


def test_one_that_takes_its_time_is_waited_for(deployed: Situation) -> None:
    deployed.world.boot_seconds = BOOT_SECONDS - 60
    outcome(deployed, *BOXES)
    assert reboots(deployed) == [1, 1]


def test_the_last_copy_is_refused_until_the_outage_is_accepted(deployed: Situation) -> None:
    deployed.box("spark-b").lose("floor-copy-flagship.service")
    deployed.world.sleep(2)
    with pytest.raises(RefusedError, match="this takes the last serving copy of flagship"):
        outcome(deployed, "spark-a")
    assert reboots(deployed) == [0, 0]
    outcome(deployed, "spark-a", force=True)
    assert reboots(deployed) == [1, 0]


def test_the_only_proxy_is_refused_until_the_outage_is_accepted(situation: Situation) -> None:
    situation.text = THREE_BOXES.replace("proxy: {boxes: [spark-a, spark-b]}", "proxy: {boxes: [spark-c]}")
    situation.deploy()
    with pytest.raises(RefusedError, match="spark-c is the only proxy: nobody reaches any model until it is back"):
        outcome(situation, "spark-c")
    outcome(situation, "spark-c", force=True)
    assert situation.box("spark-c").reboots == 1


@pytest.mark.parametrize("gone", ["box", "nginx"])
def test_the_only_proxy_that_serves_is_refused_too(deployed: Situation, gone: str) -> None:
    if gone == "box":
        deployed.box("spark-b").up = False
    else:
        deployed.box("spark-b").lose("floor-proxy.service")
    with pytest.raises(RefusedError, match="spark-a is the only proxy that serves: nobody reaches any model"):
        outcome(deployed, "spark-a")
    assert reboots(deployed) == [0, 0]


def test_one_box_alone_with_force(situation: Situation) -> None:
    situation.text = ONE_BOX
    situation.deploy()
    outcome(situation, "spark-a", force=True)
    assert situation.members() == [{"flagship@spark-a"}]


def test_this_very_machine_is_refused(deployed: Situation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reboot, "boot", lambda: "boot-1")
    with pytest.raises(
        RefusedError, match=r"spark-a is the machine that this runs on, and floor would go down with it"
    ):
        outcome(deployed, "spark-a", force=True)


def test_a_name_that_is_none(deployed: Situation) -> None:
    with pytest.raises(UsageError, match="mars: no managed box of that name; there are spark-a, spark-b"):
        outcome(deployed, "spark-a", "mars")


def test_a_box_that_does_not_answer_is_not_begun_with(deployed: Situation) -> None:
    deployed.box("spark-b").up = False
    with pytest.raises(BoxError, match="nothing was rebooted: spark-b: no way there"):
        outcome(deployed, *BOXES)
    assert reboots(deployed) == [0, 0]


def test_a_pool_that_does_not_run_cannot_let_go(deployed: Situation) -> None:
    deployed.box("spark-b").lose("floor-pool.service")
    with pytest.raises(FloorError, match="spark-b: nginx serves there and floor-pool does not run"):
        outcome(deployed, "spark-a")
    assert reboots(deployed) == [0, 0]


def test_what_a_person_drained_stays_out(deployed: Situation) -> None:
    for box in BOXES:
        deployed.box(box).call("drain.add", {"backend": "flagship@spark-a", "holder": "ada", "epoch": None})
    deployed.world.sleep(2)
    outcome(deployed, "spark-a")
    assert deployed.members() == [{"flagship@spark-b"}] * 2


def test_the_lease_outlives_the_boot_that_it_asked_for(deployed: Situation) -> None:
    """Somebody else is told who holds the box, also while the caller has not reached it yet."""
    killed = deployed.at_each_call(lambda situation: situation.reboot("spark-a"))
    left = next(left for left in killed if reboots(left) == [1, 0])
    left.world.sleep(BOOTS + 1)
    with pytest.raises(BusyError, match="held by `reboot` of ada@laptop"):
        left.box("spark-a").call("operation.take", {"epoch": 99, "verb": "deploy", "by": {"user": "bob", "host": "x"}})
