"""Starting, stopping and waiting for one unit: done is what is really done, not what was ordered."""

from __future__ import annotations

from typing import Any

import pytest

from floor.box import holds, leaving, paths, starts
from floor.box.lease import HeldError
from floor.errors import FloorError, RefusedError, UsageError

from .conftest import EPOCH, Box, Unit

NAME = "floor-copy-m.service"


def running(**more: Any) -> Unit:
    return Unit(active="active", pids=[12, 13], **more)


def test_starting_orders_and_does_not_wait(box: Box) -> None:
    box.units[NAME] = Unit()
    assert box.call("unit.start", epoch=EPOCH, unit=NAME) == {}
    assert box.ran == [f"reset-failed -- {NAME}", f"start --no-block -- {NAME}"]


def test_one_that_the_guard_keeps_down_is_refused_and_let_go_by_who_holds_the_box(box: Box) -> None:
    holds.put(holds.Hold(NAME, "2.5 GiB were left", "", 1.0), box.root)
    box.units[NAME] = Unit()
    with pytest.raises(RefusedError, match=f"^{NAME}: the guard keeps it down"):
        box.call("unit.start", epoch=EPOCH, unit=NAME)
    with pytest.raises(HeldError):
        box.call("guard.release", epoch=EPOCH - 1, unit=NAME)
    assert box.call("guard.release", epoch=EPOCH, unit=NAME) == {"released": True}
    assert box.call("guard.release", epoch=EPOCH, unit=NAME) == {"released": False}
    box.call("unit.start", epoch=EPOCH, unit=NAME)
    assert box.ran == [f"reset-failed -- {NAME}", f"start --no-block -- {NAME}"]


@pytest.mark.parametrize("unit", [Unit(), Unit(active="failed", result="start-limit-hit")])
def test_no_start_is_the_one_too_many_for_the_limit(box: Box, unit: Unit) -> None:
    """systemd counts those of a person, and refuses one that failed until it is told to forget."""
    box.units[NAME] = unit
    box.call("unit.start", epoch=EPOCH, unit=NAME)
    assert box.ran == [f"reset-failed -- {NAME}", f"start --no-block -- {NAME}"]


def test_of_what_is_not_loaded_nothing_is_to_be_forgotten(box: Box) -> None:
    box.units[NAME] = Unit()
    box.said["reset-failed"] = f"Failed to reset failed state of unit {NAME}: Unit {NAME} not loaded."
    box.call("unit.start", epoch=EPOCH, unit=NAME)
    assert box.ran[-1] == f"start --no-block -- {NAME}"
    box.said["reset-failed"] = "Failed to connect to bus"
    with pytest.raises(FloorError, match=f"^systemctl reset-failed {NAME}: Failed to connect to bus$"):
        box.call("unit.start", epoch=EPOCH, unit=NAME)


def test_a_restart_is_over_when_the_old_process_is_not_taken_for_the_new_one(box: Box) -> None:
    box.units[NAME] = running(invocation="old")
    box.after[0.5] = lambda: box.units.__setitem__(NAME, running(invocation="new"))
    box.call("unit.restart", epoch=EPOCH, unit=NAME, timeout=5)
    assert box.units[NAME].invocation == "new"
    assert 0.4 <= box.time - 1000 <= 0.8


def test_a_stop_is_done_when_no_process_is_left(box: Box) -> None:
    box.units[NAME] = running()
    box.on["stop"] = lambda unit: setattr(unit, "active", "inactive")
    box.after[3] = lambda: setattr(box.units[NAME], "pids", [13])
    box.after[5] = lambda: setattr(box.units[NAME], "pids", [])
    assert box.call("unit.stop", epoch=EPOCH, unit=NAME, timeout=20) == {
        "stopped": True,
        "left": [],
        "active": "inactive",
    }
    assert 5 <= box.time - 1000 < 6
    assert box.ran == [f"stop --no-block -- {NAME}"]


def test_an_orphan_that_stays_is_named_with_its_pid(box: Box) -> None:
    """The API process is gone and the port is free, but EngineCore still holds the memory."""
    box.units[NAME] = Unit(active="failed", pids=[77])
    assert box.call("unit.stop", epoch=EPOCH, unit=NAME, timeout=2) == {
        "stopped": False,
        "left": [77],
        "active": "failed",
    }
    assert box.ran == []


def test_a_container_that_stays_is_named(box: Box) -> None:
    """Killing the docker client leaves the container up, outside of the unit's group."""
    box.units[NAME] = Unit()
    box.containers.add("floor-copy-m")
    answer = box.call("unit.stop", epoch=EPOCH, unit=NAME, timeout=1)
    assert answer == {"stopped": False, "left": ["container floor-copy-m"], "active": "inactive"}


def test_a_stop_that_takes_longer_than_one_call_is_asked_for_again(box: Box) -> None:
    box.units[NAME] = running()
    box.on["stop"] = lambda unit: setattr(unit, "active", "deactivating")
    assert box.call("unit.stop", epoch=EPOCH, unit=NAME, timeout=100)["stopped"] is False
    assert box.time - 1000 < 26
    box.units[NAME] = Unit()
    assert box.call("unit.stop", epoch=EPOCH, unit=NAME)["stopped"] is True


def test_one_that_was_stopped_and_had_to_be_killed_has_not_failed(box: Box) -> None:
    """It was asked for; `systemctl --failed` and monitors would show it until the next start."""
    box.units[NAME] = running()
    box.on["stop"] = lambda unit: setattr(unit, "active", "deactivating")
    assert box.call("unit.stop", epoch=EPOCH, unit=NAME, timeout=1)["stopped"] is False
    box.units[NAME] = Unit(active="failed", result="signal")
    answer = box.call("unit.stop", epoch=EPOCH, unit=NAME, timeout=1)
    assert answer == {"stopped": True, "left": [], "active": "inactive"}
    assert box.ran[-1] == f"reset-failed -- {NAME}"


def test_one_that_had_failed_before_anybody_stopped_it_still_shows_that(box: Box) -> None:
    box.units[NAME] = Unit(active="failed", result="exit-code")
    assert box.call("unit.stop", epoch=EPOCH, unit=NAME, timeout=1)["active"] == "failed"
    assert box.ran == []


def test_killing_ends_processes_and_container(box: Box) -> None:
    box.units[NAME] = running()
    box.containers.add("floor-copy-m")
    box.on["kill"] = lambda unit: setattr(unit, "pids", [])
    assert box.call("unit.kill", epoch=EPOCH, unit=NAME) == {"left": []}
    assert box.ran == [f"kill --signal=SIGKILL -- {NAME}", "docker rm --force -- floor-copy-m"]


def test_killing_what_is_gone_orders_nothing(box: Box) -> None:
    box.units[NAME] = Unit()
    assert box.call("unit.kill", epoch=EPOCH, unit=NAME) == {"left": []}
    assert box.ran == []


def test_waiting_until_a_copy_is_active_tells_its_facts_and_its_last_line(box: Box) -> None:
    box.units[NAME] = Unit(active="activating")
    box.after[7] = lambda: setattr(box.units[NAME], "active", "active")
    box.log = "Application startup complete.\n"
    answer = box.call("unit.wait", epoch=EPOCH, unit=NAME, until="active", timeout=20)
    assert (answer["reached"], answer["active"], answer["log"]) == (True, "active", "Application startup complete.")
    assert {"restarts", "result", "invocation"} <= set(answer)


def test_a_copy_that_failed_is_not_waited_for(box: Box) -> None:
    box.units[NAME] = Unit(active="failed", result="exit-code", restarts=2)
    box.log = "CUDA out of memory\n"
    answer = box.call("unit.wait", epoch=EPOCH, unit=NAME, until="active", timeout=20)
    assert (answer["reached"], answer["result"], answer["restarts"]) == (False, "exit-code", 2)
    assert answer["log"] == "CUDA out of memory"
    assert box.time == 1000


def test_one_that_is_not_ready_in_time_is_told_as_such(box: Box) -> None:
    box.units[NAME] = Unit(active="activating")
    answer = box.call("unit.wait", epoch=EPOCH, unit=NAME, until="active", timeout=3)
    assert (answer["reached"], answer["active"]) == (False, "activating")


def test_inactive_means_that_nothing_of_it_is_left(box: Box) -> None:
    box.units[NAME] = Unit(pids=[5])
    box.after[1] = lambda: setattr(box.units[NAME], "pids", [])
    assert box.call("unit.wait", epoch=EPOCH, unit=NAME, until="inactive", timeout=9)["reached"] is True
    assert box.time - 1000 >= 1


def test_waiting_renews_the_lease_and_a_lost_one_ends_it(box: Box) -> None:
    box.units[NAME] = Unit()
    with pytest.raises(HeldError):
        box.call("unit.wait", epoch=2, unit=NAME, until="inactive", timeout=1)


def test_waiting_for_something_else_is_a_callers_mistake(box: Box) -> None:
    with pytest.raises(UsageError, match="parameter until: must be active or inactive, found 'ready'"):
        box.call("unit.wait", unit=NAME, until="ready")


@pytest.mark.parametrize("verb", ["reload", "enable", "disable"])
def test_simple_orders(box: Box, verb: str) -> None:
    box.units[NAME] = Unit()
    assert box.call(f"unit.{verb}", epoch=EPOCH, unit=NAME) == {}
    assert box.ran == [f"{verb} -- {NAME}"]


def test_disabling_a_unit_that_is_gone_is_fine(box: Box) -> None:
    assert box.call("unit.disable", epoch=EPOCH, unit=NAME) == {}
    assert box.ran == []


@pytest.mark.parametrize("verb", ["start", "stop", "restart", "reload", "enable", "disable", "kill"])
@pytest.mark.parametrize(
    "unit", ["nginx.service", "ssh.service", "floor", "../floor.service", "floor-x.mount", "--all"]
)
def test_units_that_are_not_floors_are_not_touched(box: Box, verb: str, unit: str) -> None:
    with pytest.raises(UsageError, match=r"must be floor's, as floor-copy-MODEL.service"):
        box.call(f"unit.{verb}", epoch=EPOCH, unit=unit)
    assert box.ran == []


def test_a_foreign_unit_is_stopped_when_it_is_called_foreign(box: Box) -> None:
    box.units["vllm.service"] = running()
    box.on["stop"] = lambda unit: (setattr(unit, "active", "inactive"), setattr(unit, "pids", []))[0]
    assert box.call("unit.stop", epoch=EPOCH, unit="vllm.service", foreign=True)["stopped"] is True
    with pytest.raises(UsageError):
        box.call("unit.stop", epoch=EPOCH, unit="--all", foreign=True)


@pytest.mark.parametrize("verb", ["start", "stop", "restart", "reload", "enable", "disable", "kill"])
def test_nothing_is_done_for_who_does_not_hold_the_box(free: Box, verb: str) -> None:
    free.units[NAME] = running()
    with pytest.raises(HeldError, match="no operation was ever recorded; take the epoch first"):
        free.call(f"unit.{verb}", epoch=1, unit=NAME)
    assert free.ran == []


def test_all_units_are_read_again_by_one_order(box: Box) -> None:
    assert box.call("units.reload", epoch=EPOCH) == {}
    assert box.ran == ["daemon-reload"]


def named(box: Box) -> None:
    settings = paths.under(box.root, paths.ENGINES / "m.json")
    settings.parent.mkdir(parents=True)
    settings.write_text('{"backend": "m@a"}')


@pytest.mark.parametrize("timeout", [20, 0], ids=["waits", "tells and comes back"])
def test_how_long_an_engine_took_to_stop_is_kept_once(box: Box, timeout: float) -> None:
    """The caller asks again and again while it waits, or tells it and asks later; it runs from the first order on."""
    named(box)
    box.units[NAME] = running(invocation="one")
    box.after[25] = lambda: box.units.__setitem__(NAME, Unit(invocation="one"))
    box.call("unit.stop", epoch=EPOCH, unit=NAME, timeout=timeout)
    for _ in range(3):
        box.call("unit.stop", epoch=EPOCH, unit=NAME, timeout=20)
    (stop,) = starts.read(box.root)["m@a"]["stops"]
    assert 25 <= stop["seconds"] < 26
    assert leaving.read(paths.DRAINED, box.root) == {}


@pytest.mark.parametrize(("later", "noted"), [(599.0, [599.0]), (600.0, []), (7200.0, [])])
def test_a_stop_that_nobody_waited_for_is_not_noted_as_hours_long(box: Box, later: float, noted: list[float]) -> None:
    """The caller went away; the next operation finds the engine gone."""
    named(box)
    box.units[NAME] = running(invocation="one")
    box.call("unit.stop", epoch=EPOCH, unit=NAME, timeout=0)
    box.units[NAME] = Unit(invocation="one")
    box.time += later
    assert box.call("unit.stop", epoch=EPOCH, unit=NAME)["stopped"] is True
    assert [stop["seconds"] for one in starts.read(box.root).values() for stop in one["stops"]] == noted
    assert leaving.read(paths.DRAINED, box.root) == {}


def test_the_mark_of_another_start_goes_without_a_word(box: Box) -> None:
    named(box)
    leaving.put(paths.DRAINED, NAME, leaving.Mark("before", box.time, box.time), box.root)
    box.units[NAME] = Unit(invocation="one")
    box.call("unit.stop", epoch=EPOCH, unit=NAME)
    assert (starts.read(box.root), leaving.read(paths.DRAINED, box.root)) == ({}, {})
