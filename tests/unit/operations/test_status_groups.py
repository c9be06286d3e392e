"""A group in `floor status`: never `running` for half of it."""

from __future__ import annotations

from typing import Any

import pytest

from floor.config import parse
from floor.operations.status_groups import told
from floor.operations.status_warnings import warnings
from tests.unit.operations.test_agreement import SPLIT

UNIT = "floor-group-flagship.service"
CONFIG = parse(SPLIT)
PARTS = CONFIG.parts("flagship")


def box(active: str, generation: str | None = "g1", at: float = 1000.0, left: tuple[int, ...] = ()) -> dict[str, Any]:
    """What a box answers of its part."""
    phase = {"active": "running", "activating": "going"}.get(active, "down")
    part = {"part": "", "unit": UNIT, "phase": phase, "start": "i", "generation": generation, "left": []}
    unit = {"active": active, "sub": "sub", "result": "exit-code", "invocation": "i", "at": at, "part": part}
    return {"mode": "split", "units": {UNIT: {**unit, "left": list(left)}}}


@pytest.mark.parametrize(
    ("head", "worker", "state", "why"),
    [
        (box("active"), box("active"), "running", ""),
        (box("active"), box("failed"), "degraded", "degraded: the worker on spark-a is failed (sub, exit-code)"),
        (box("failed"), box("active"), "degraded", "degraded: the head on spark-b is failed (sub, exit-code)"),
        (box("active"), None, "degraded", "degraded: the worker on spark-a does not answer"),
        (None, box("active"), "degraded", "degraded: the head on spark-b does not answer"),
        (box("active"), {"units": {}}, "degraded", "degraded: the worker on spark-a is inactive (dead)"),
        (
            box("active", "g2"),
            box("active", "g1"),
            "degraded",
            "degraded: the worker on spark-a is of another start than the head",
        ),
        (
            box("activating"),
            box("active"),
            "starting",
            "starting: the head on spark-b is starting (sub), the worker on spark-a runs",
        ),
        (
            {"units": {}},
            {"units": {}},
            "down",
            "down: the head on spark-b is inactive (dead), the worker on spark-a is inactive (dead)",
        ),
    ],
)
def test_a_group_is_one_thing(head: Any, worker: Any, state: str, why: str) -> None:
    answers = {name: answer for name, answer in (("spark-b", head), ("spark-a", worker)) if answer is not None}
    found = told(PARTS, answers)
    assert (found["state"], found["why"]) == (state, why)
    assert [part["box"] for part in found["parts"]] == ["spark-b", "spark-a"]


def test_since_when_is_that_of_the_half_which_is_not_there() -> None:
    found = told(PARTS, {"spark-b": box("active", at=5.0), "spark-a": box("failed", at=70.0)})
    assert found["since"] == 70.0
    assert told(PARTS, {"spark-b": box("active", at=5.0), "spark-a": box("active", at=7.0)})["since"] == 7.0


def entry(head: Any, worker: Any) -> dict[str, Any]:
    group = told(PARTS, {"spark-b": head, "spark-a": worker})
    return {"backend": "flagship@spark-b+spark-a", "model": "flagship", "group": group, "left": [], "unit": "active",
            "member": {"spark-a": False}}  # fmt: skip


def test_half_a_group_is_warned_of_with_what_holds_on() -> None:
    boxes = {"spark-a": {"mode": "split"}, "spark-b": {"mode": "split"}}
    found = warnings(CONFIG, boxes, [entry(box("active"), box("failed", left=(77,)))])
    assert found[0] == "flagship@spark-b+spark-a: processes that outlived their unit on spark-a hold on: pids 77"
    assert found[1].startswith(
        "flagship@spark-b+spark-a is degraded: the worker on spark-a is failed (sub, exit-code), since "
    )
    assert found[1].endswith("; it begins anew when all parts can")
    assert found[2] == "flagship: nobody serves it"


def test_boxes_in_different_modes_are_told() -> None:
    found = warnings(CONFIG, {"spark-a": {"mode": "split"}, "spark-b": {"mode": "replicas"}}, [])
    assert found[0] == (
        "the boxes are in different modes (spark-a: split, spark-b: replicas): a switch did not end; floor switch "
        "tells how to end it"
    )
