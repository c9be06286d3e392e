"""What a box tells of its part of a group, from systemd's word and the mark of its gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from floor.box import parts, paths
from floor.box.parts import Mark, Phase
from floor.box.units import UnitFacts, parse
from floor.errors import FloorError

UNIT = "floor-group-flagship.service"


def unit(active: str, sub: str = "", invocation: str = "s2") -> UnitFacts:
    return parse([UNIT], f"Id={UNIT}\nActiveState={active}\nSubState={sub}\nInvocationID={invocation}")[UNIT]


@pytest.mark.parametrize(
    ("active", "sub", "mark", "phase", "generation"),
    [
        ("activating", "start-pre", Mark("s2", False, None), Phase.WAITING, None),
        ("activating", "start-pre", Mark("s2", False, "g1"), Phase.WAITING, "g1"),
        ("activating", "start-pre", Mark("s1", True, "g1"), Phase.DOWN, None),
        ("activating", "start-pre", None, Phase.DOWN, None),
        ("activating", "start-pre", Mark("s2", True, "g1"), Phase.GOING, "g1"),
        ("activating", "start-post", Mark("s2", True, "g1"), Phase.GOING, "g1"),
        ("activating", "auto-restart", Mark("s2", True, "g1"), Phase.DOWN, None),
        ("active", "running", Mark("s2", True, "g1"), Phase.RUNNING, "g1"),
        ("active", "running", Mark("s1", True, "g1"), Phase.RUNNING, None),
        ("deactivating", "stop", Mark("s2", True, "g1"), Phase.STOPPING, "g1"),
        ("inactive", "dead", Mark("s2", True, "g1"), Phase.DOWN, None),
        ("failed", "failed", Mark("s2", True, "g1"), Phase.DOWN, None),
    ],
)
def test_phase(active: str, sub: str, mark: Mark | None, phase: Phase, generation: str | None) -> None:
    told = parts.told("worker", unit(active, sub), mark)
    assert (told.phase, told.generation) == (phase, generation)
    assert told.start == ("" if phase is Phase.DOWN else "s2")


@pytest.mark.parametrize(
    ("active", "sub", "mark", "goes"),
    [
        ("active", "running", Mark("s2", True, "g1"), False),
        ("active", "running", Mark("s2", True, "g1", leaves=True), True),
        ("activating", "start", Mark("s2", True, "g1", leaves=True), True),
        ("active", "running", Mark("s1", True, "g1", leaves=True), None),
        ("active", "running", None, None),
        ("activating", "start-pre", Mark("s2", False, "g1"), None),
        ("activating", "start-pre", Mark("s1", True, "g1"), None),
        ("activating", "start-pre", None, None),
        ("activating", "auto-restart", Mark("s2", True, "g1"), None),
        ("deactivating", "stop", Mark("s2", True, "g1"), None),
    ],
)
def test_whether_it_goes_is_told_where_its_rank_was_let_start(
    active: str, sub: str, mark: Mark | None, goes: bool | None
) -> None:
    assert parts.goes(unit(active, sub), mark) is goes


def test_what_is_left_is_told_while_it_waits_and_no_longer() -> None:
    mark = Mark("s2", False, None, (7, "container floor-group-flagship"))
    assert parts.told("head", unit("activating", "start-pre"), mark).left == (7, "container floor-group-flagship")
    assert parts.told("head", unit("active"), mark).left == ()


def test_a_mark_is_read_as_it_was_put(root: Path) -> None:
    mark = Mark("s2", True, "g1", (7, "container floor-group-flagship"), 12.5, spared=True, among=("b", "c"))
    parts.put("flagship", mark, root)
    assert parts.get("flagship", root) == mark
    assert parts.get("another", root) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"start": "s"}', '{"start": 1, "going": true}'])
def test_what_is_no_mark_is_none(root: Path, text: str) -> None:
    place = paths.under(root, paths.PARTS / "flagship.json")
    place.parent.mkdir(parents=True)
    place.write_text(text)
    assert parts.get("flagship", root) is None


def test_what_a_box_tells_is_read_as_it_was_told() -> None:
    told = parts.told("worker", unit("activating", "start-pre"), Mark("s2", False, "g1", (7,)))
    assert parts.read({"groups": {"flagship": told.as_json()}}, "flagship") == told


@pytest.mark.parametrize("status", [{}, {"groups": None}, {"groups": {}}, {"groups": {"another": {}}}])
def test_a_box_that_tells_of_no_part(status: dict[str, Any]) -> None:
    assert parts.read(status, "flagship") is None


@pytest.mark.parametrize(
    "groups", [[], {"flagship": []}, {"flagship": {}}, {"flagship": {"part": "head", "unit": "u", "phase": "odd"}}]
)
def test_what_is_no_status_is_said(groups: Any) -> None:
    with pytest.raises(FloorError, match="group of flagship: what its box tells is no status"):
        parts.read({"groups": groups or {"flagship": []}}, "flagship")
