"""The report: its shape, which other programs read, and what the next run goes on from."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from floor.errors import FloorError
from floor.pool.decide import decide
from floor.pool.memory import Memory
from floor.pool.report import Former, Now, compose, restore
from floor.pool.rollout import Rollout
from tests.unit.pool.documents import settings
from tests.unit.pool.words import seen

A, B = "flagship@a", "flagship@b"
NOW = Now(unix=1_800_000_000.0, boot="boot-1", monotonic=500.0, pid=42)
ROLLOUT = Rollout(7, 6, {B: 7}, {A: 3}, frozenset({(10, 100)}), 499.0)


def report(**what: Any) -> dict[str, Any]:
    words = {A: {"reason": "ok"}, B: {"reason": "refused", "unit": "failed"}} | what
    now_seen = {name: seen(name, word, 500.0) for name, word in words.items()}
    memories, decisions = decide({A: Memory(member=True, since=400.0)}, now_seen, 500.0)
    document = compose(
        NOW,
        settings().pools,
        frozenset({A}),
        memories,
        now_seen,
        decisions,
        (ROLLOUT, (9, 90), 95),
        {A: False, B: True},
    )
    return dict(json.loads(json.dumps(document)))


def test_its_shape() -> None:
    document = report()
    assert (document["at"], document["pid"]) == (1_800_000_000.0, 42)
    assert document["acknowledged"] == {A: False, B: True}
    pool = document["pools"]["flagship"]
    assert (pool["members"], pool["generation"]) == ([A], 7)
    assert pool["backends"][A] == {
        "member": True,
        "reason": "ok",
        "evidence": "found ok",
        "level": 3,
        "running": None,
        "waiting": None,
        "latency": None,
        "since": 1_799_999_900.0,
        "drains": [],
        "unit": "active",
    }
    assert pool["backends"][B]["reason"] == "unit failed"
    assert pool["backends"][B]["since"] is None


@pytest.mark.parametrize(
    ("word", "unit"), [({"unit": "silent"}, "unknown"), ({"unit": "activating"}, "activating")], ids=str
)
def test_a_unit_is_told_as_far_as_it_is_known(word: dict[str, Any], unit: str) -> None:
    assert report(**{A: word})["pools"]["flagship"]["backends"][A]["unit"] == unit


def test_the_next_run_goes_on_from_it() -> None:
    former = restore(json.dumps(report(**{B: {"drains": ["x", "y"]}})), "state.json", "boot-1", 600.0)
    assert former.memories[A] == Memory(since=400.0, served="run-1")
    assert former.memories[B].since == -math.inf
    assert former.holders == {B: ("x", "y")}
    assert former.front is not None
    rollout, told, written = former.front
    assert (rollout.generation, rollout.settled, rollout.left, rollout.joined) == (7, 6, {B: 7}, {A: 3})
    assert (rollout.old, rollout.since) == (frozenset({(10, 100)}), 600.0)
    assert (told, written) == ((9, 90), 95)


def test_a_report_of_another_boot_says_nothing() -> None:
    assert restore(json.dumps(report()), "state.json", "boot-2", 600.0) == Former()


@pytest.mark.parametrize("text", ["", "{}", "[]", "3", '{"boot": "boot-1"}', '{"boot": "boot-1", "memory": [1]}'])
def test_what_is_no_report_is_said(text: str) -> None:
    with pytest.raises(FloorError, match=r"^state\.json: is not a report of floor-pool \(.*\); starting without it$"):
        restore(text, "state.json", "boot-1", 600.0)
