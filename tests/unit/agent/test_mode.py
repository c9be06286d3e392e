"""The mode of a box changes only while nothing of the old one runs there."""

from __future__ import annotations

import pytest

from floor.box import parts, paths
from floor.box.lease import HeldError
from floor.errors import FloorError

from .conftest import EPOCH, Box, Unit

COPY, GROUP = "floor-copy-m.service", "floor-group-m.service"


def mode(box: Box) -> str:
    return paths.under(box.root, paths.MODE).read_text()


def test_the_mode_is_written_where_all_is_down(box: Box) -> None:
    box.units[COPY] = Unit()
    assert box.call("mode.put", epoch=EPOCH, mode="split", down=[COPY, GROUP]) == {}
    assert mode(box) == "split\n"


@pytest.mark.parametrize(
    ("unit", "left"),
    [
        (Unit(active="active", pids=[12, 13]), r"12, 13"),
        (Unit(active="activating"), "activating"),
        (Unit(active="failed", pids=[77]), "77"),
    ],
)
def test_what_runs_again_or_left_a_process_keeps_the_old_one(box: Box, unit: Unit, left: str) -> None:
    box.call("mode.put", epoch=EPOCH, mode="replicas", down=[])
    box.units[COPY] = unit
    with pytest.raises(FloorError, match=rf"{COPY} runs again \({left}\), so the mode stays; run the same command"):
        box.call("mode.put", epoch=EPOCH, mode="split", down=[COPY])
    assert mode(box) == "replicas\n"


def test_only_who_holds_the_box_changes_its_mode(box: Box) -> None:
    with pytest.raises(HeldError):
        box.call("mode.put", epoch=EPOCH - 1, mode="split", down=[])
    assert not paths.under(box.root, paths.MODE).exists()


def test_a_part_that_goes_is_marked_until_it_stays_after_all(box: Box) -> None:
    call = {"epoch": EPOCH, "model": "m"}
    assert box.call("group.leave", **call, leaves=True) == {}  # never at its gate: nothing to mark
    parts.put("m", parts.Mark("s", True, "g", among=("b",)), box.root)
    with pytest.raises(HeldError):
        box.call("group.leave", epoch=EPOCH - 1, model="m", leaves=True)
    box.call("group.leave", **call, leaves=True)
    mark = parts.get("m", box.root)
    assert (parts.leaves("s", mark), parts.leaves("later", mark)) == (True, False)
    box.call("group.leave", **call, leaves=False)
    assert parts.get("m", box.root) == parts.Mark("s", True, "g", among=("b",))
