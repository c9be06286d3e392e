"""A group is whole or it is out of the pool, with words that name the half."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import yaml

from floor.box.parts import Phase, Told
from floor.pool.boxes import Status
from floor.pool.decide import decide
from floor.pool.group import PartSeen, broken
from floor.pool.memory import Memory, Seen, UnitSeen
from floor.pool.watches import Watches
from tests.unit.pool.documents import backend, settings
from tests.unit.pool.words import seen, verdict

CASES = yaml.safe_load((Path(__file__).parents[2] / "cases/pool/group.yaml").read_text())
UNIT = "floor-group-flagship.service"
NAME = "flagship@a+b"


def part(box: str, words: str | dict[str, Any]) -> PartSeen:
    given = {"is": words} if isinstance(words, str) else words
    active, sub, result = (*given["is"].split("/"), "", "")[:3]
    if active == "silent":
        return PartSeen(box, None, None, float(given["silent"]))
    unit = UnitSeen(UNIT, active, sub or "running", result, "i")
    told = Told("", UNIT, Phase(given.get("phase", "running")), "i", given.get("generation"))
    return PartSeen(box, unit, told, 0.0)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["about"])
def test_why_a_group_is_not_whole(case: dict[str, Any]) -> None:
    found = broken([part(box, words) for box, words in zip("abc", case["parts"], strict=False)])
    assert found == (tuple(case["says"]) if "says" in case else None)


def test_a_copy_has_no_parts() -> None:
    assert broken([]) is None


@pytest.mark.parametrize("case", [case for case in CASES if "says" in case], ids=lambda case: case["about"])
def test_it_is_out_at_once_though_its_head_answers_and_nobody_else_does(case: dict[str, Any]) -> None:
    why = broken([part(box, words) for box, words in zip("abc", case["parts"], strict=False)])
    fine = seen(NAME, "ok", 10.0)
    half = Seen(verdict(NAME, "ok", 10.5), (), managed=True, unit=fine.unit, told=10.5, stall=300.0, broken=why)
    memories, before = decide({NAME: Memory(member=True, served="run-1")}, {NAME: fine}, 10.0)
    memories, after = decide(memories, {NAME: half}, 10.5)
    assert before[NAME].member
    assert not after[NAME].member
    assert (after[NAME].reason, after[NAME].evidence) == why


def test_it_is_in_again_when_it_is_whole_in_a_new_generation() -> None:
    memories = {NAME: Memory(member=True, served="run-1")}
    why = ("half a group", "degraded: the worker on b is failed (failed)")
    for at, run, broken_by in ((10.0, 1, None), (11.0, 1, why), (70.0, 2, None)):
        fine = seen(NAME, {"reason": "ok", "run": run}, at)
        now = Seen(fine.verdict, (), managed=True, unit=fine.unit, told=at + 1, stall=300.0, broken=broken_by)
        memories, decisions = decide(memories, {NAME: now}, at)
    assert decisions[NAME].member


GROUP = backend(
    NAME,
    "192.0.2.1",
    box="a",
    unit=UNIT,
    parts=[
        {"box": box, "unit": UNIT, "status_url": f"http://192.0.2.{number}:8099/status"}
        for number, box in enumerate("ab", 1)
    ],
)


def test_parts_are_read_with_the_settings() -> None:
    (one,) = settings(GROUP).backends
    assert [(part.box, part.unit, part.status_url) for part in one.parts] == [
        ("a", UNIT, "http://192.0.2.1:8099/status"),
        ("b", UNIT, "http://192.0.2.2:8099/status"),
    ]


def status(at: float, active: str = "active", generation: str = "g1", leaving: tuple[str, ...] = ()) -> Status:
    unit = UnitSeen(UNIT, active, "running", "", "i")
    told = Told("", UNIT, Phase.RUNNING, "i", generation)
    return Status(at, {UNIT: unit}, frozenset(leaving), groups={"flagship": told})


def watched(now: float, *told: Status | None) -> Seen:
    """What is seen of the group at a time, after its boxes told this; None for one that never did."""

    async def look() -> Seen:
        watches = Watches(settings(GROUP), (), (), lambda: now if began else 0.0, lambda: None, print)
        began.append(True)
        (one,) = settings(GROUP).backends
        for part, answer in zip(one.parts, told, strict=True):
            watches._boxes[part.status_url]._status = answer
        return watches.seen(one, ())

    began: list[bool] = []
    return asyncio.run(look())


def test_every_part_is_watched() -> None:
    whole = watched(10.0, status(9.8), status(9.6))
    assert (whole.broken, whole.told, whole.leaving) == (None, 9.6, "")
    half = watched(10.0, status(9.8), status(9.6, "failed"))
    assert half.broken == ("half a group", "degraded: the worker on b is failed (running)")
    mixed = watched(10.0, status(9.8), status(9.6, generation="g0"))
    assert mixed.broken == ("half a group", "degraded: the worker on b is of another start than the head")


def test_a_worker_that_leaves_takes_the_group_out_as_a_drain_does() -> None:
    found = watched(10.0, status(9.8), status(9.6, leaving=(UNIT,)))
    assert found.leaving == f"{UNIT} is being stopped, and finishes what it has"


def test_a_box_that_never_told_is_believed_for_a_moment_alone() -> None:
    assert watched(4.0, status(3.9), None).broken is None
    assert watched(6.0, status(5.9), None).broken == (
        "half a group",
        "degraded: the worker on b has told nothing for 6 s",
    )
