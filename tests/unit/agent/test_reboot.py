"""A box that is told to reboot: once for each boot, after its answer, and still held by who told it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from floor.agent.calls import box as calls
from floor.box import leaving, paths
from floor.box.command import Result
from floor.box.lease import HeldError, Now
from floor.box.operation import Operation
from floor.errors import FloorError

from .conftest import EPOCH, Box, Unit

NAME = "floor-copy-m.service"
TIMER = "systemd-run --quiet --unit=reboot-by-floor --on-active=2 --timer-property=AccuracySec=100ms --collect"


class Systemd:
    """Answers for the whole machine; `timer` is whether its reboot has been ordered, `state` what systemd is doing."""

    def __init__(self, box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
        self.box, self.timer, self.refuses, self.state = box, False, "", "running"
        self.boot, self.ran = "boot-1", []  # type: ignore[var-annotated]
        self._units = box.run
        box.run = self.run  # type: ignore[method-assign]
        monkeypatch.setattr(calls, "now", lambda: Now(self.boot, 0.0))

    def run(self, argv: Sequence[str]) -> Result:
        if argv[:2] == ["systemctl", "is-active"]:
            return Result(0 if self.timer else 3, "", "")
        if argv[0] == "systemd-run":
            self.ran.append(" ".join(argv))
            self.timer = not self.refuses
            return Result(1 if self.refuses else 0, "", self.refuses)
        if "--property=SystemState" in argv:
            return Result(0, f"{self.state}\n", "")
        return self._units(argv)


@pytest.fixture
def systemd(box: Box, monkeypatch: pytest.MonkeyPatch) -> Systemd:
    return Systemd(box, monkeypatch)


def record(box: Box) -> dict[str, Any]:
    return dict(Operation(box.root).read() or {})


def test_it_answers_before_it_goes_and_keeps_its_holder(box: Box, systemd: Systemd) -> None:
    assert box.call("box.reboot", epoch=EPOCH, boot="boot-1") == {"boot": "boot-1"}
    assert systemd.ran == [f"{TIMER} systemctl reboot"]
    assert record(box)["reboots"] == record(box)["until"]["boot"]


def test_asked_twice_it_goes_once(box: Box, systemd: Systemd) -> None:
    for _ in range(2):
        box.call("box.reboot", epoch=EPOCH, boot="boot-1")
    assert len(systemd.ran) == 1


def test_a_boot_that_is_over_is_not_ended_again(box: Box, systemd: Systemd) -> None:
    systemd.boot = "boot-2"
    assert box.call("box.reboot", epoch=EPOCH, boot="boot-1") == {"boot": "boot-2"}
    assert systemd.ran == []


def test_a_systemd_that_refuses_is_told(box: Box, systemd: Systemd) -> None:
    systemd.refuses = "Failed to start transient timer unit"
    with pytest.raises(FloorError, match="the box does not reboot: systemd-run: Failed to start transient"):
        box.call("box.reboot", epoch=EPOCH, boot="boot-1")


def test_who_does_not_hold_the_box_does_not_reboot_it(box: Box, systemd: Systemd) -> None:
    Operation(box.root).release(EPOCH, "done")
    with pytest.raises(HeldError):
        box.call("box.reboot", epoch=EPOCH, boot="boot-1")
    assert systemd.ran == []


@pytest.mark.parametrize(
    ("boot", "active", "state", "reason"),
    [
        ("boot-1", "active", "running", "it has not gone down yet"),
        ("boot-2", "inactive", "starting", f"boots, and has not come to {NAME}"),
        ("boot-2", "activating", "starting", ""),
        ("boot-2", "inactive", "running", ""),
    ],
    ids=["not gone yet", "before the units", "starts the unit", "is through, and left the unit out"],
)
def test_when_it_is_back(box: Box, systemd: Systemd, boot: str, active: str, state: str, reason: str) -> None:
    systemd.boot, systemd.state = boot, state
    box.units[NAME] = Unit(active)
    found = box.call("box.back", epoch=EPOCH, boot="boot-1", units=[NAME], timeout=0)
    assert found == {"back": not reason, "boot": boot, "reason": reason}


def test_what_floor_stops_is_marked_so_that_it_does_not_wait(box: Box) -> None:
    box.units[NAME] = Unit(active="active", invocation="a1")
    told: list[dict[str, leaving.Mark]] = []

    def stop(unit: Unit) -> None:
        told.append(leaving.read(paths.DRAINED, box.root))
        unit.active = "inactive"

    box.on["stop"] = stop
    box.call("unit.stop", epoch=EPOCH, unit=NAME, timeout=1)
    assert told == [{NAME: leaving.Mark("a1", 1000.0, 1000.0)}]
    assert leaving.read(paths.DRAINED, box.root) == {}  # nothing of it is left to wait
