"""Calls that take over what is not floor's: only under a lease, and never floor's own things."""

from __future__ import annotations

from typing import Any

import pytest

from floor.box.lease import HeldError
from floor.errors import UsageError

from .conftest import EPOCH, Box, Unit

NAME = "vllm.service"
THING = {"kind": "unit", "name": NAME, "key": None}


def test_a_stop_is_done_when_nothing_runs_any_more(box: Box) -> None:
    box.units[NAME] = Unit(active="active", pids=[12])
    box.on["stop"] = lambda unit: setattr(unit, "active", "inactive")
    box.after[3] = lambda: setattr(box.units[NAME], "pids", [])
    assert box.call("foreign.stop", epoch=EPOCH, timeout=20, **THING) == {"stopped": True, "left": []}
    assert 3 <= box.time - 1000 < 4


def test_what_stays_is_named(box: Box) -> None:
    box.units[NAME] = Unit(active="active", pids=[12])
    answer = box.call("foreign.stop", epoch=EPOCH, timeout=1, **THING)
    assert answer == {"stopped": False, "left": ["unit vllm.service"]}


@pytest.mark.parametrize("call", ["foreign.stop", "foreign.disable", "foreign.kill"])
def test_without_the_lease_nothing_is_touched(box: Box, call: str) -> None:
    box.units[NAME] = Unit(active="active")
    with pytest.raises(HeldError):
        box.call(call, epoch=EPOCH + 1, **THING)
    assert box.ran == []


@pytest.mark.parametrize(
    "thing",
    [
        {"kind": "unit", "name": "floor-pool.service"},
        {"kind": "container", "name": "floor-copy-x"},
        {"kind": "file", "name": "/etc/passwd"},
        {"kind": "unit", "name": "--now"},
    ],
)
def test_nothing_else_can_be_taken_over(box: Box, thing: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="is nothing that floor could take over"):
        box.call("foreign.stop", epoch=EPOCH, **thing)


def test_ports_must_be_ports(box: Box) -> None:
    with pytest.raises(UsageError, match=r"foreign\.look: parameter ports: must be a list of ports"):
        box.call("foreign.look", ports=["8000"])
