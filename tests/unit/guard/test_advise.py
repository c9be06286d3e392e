"""Boxes and the shares that their engines should have (tests/cases/guard/advice.yaml)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from floor.guard.advise import Advice, Room, Wish, advise, leaves
from floor.guard.history import Others
from floor.guard.settings import GIB

CASES = yaml.safe_load((Path(__file__).parents[2] / "cases/guard/advice.yaml").read_text())


def gib(size: float | None) -> int | None:
    return None if size is None else int(size * GIB)


def room(case: dict[str, Any]) -> Room:
    usual, most = (int(size * GIB) for size in case["others"])
    floor = int(case.get("floor", 3) * GIB)
    return Room(int(case["total"] * GIB), int(case["keep_free"] * GIB), floor, Others(usual, most, 1000, 7))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["box"])
def test_box(case: dict[str, Any]) -> None:
    wishes = [
        Wish(name, one["share"], gib(one.get("held")), gib(one.get("cache"))) for name, one in case["engines"].items()
    ]
    found = advise(room(case), wishes)
    assert {one.backend: one.utilization for one in found} == case["gives"], [one.text for one in found]
    for name, size in case.get("cache", {}).items():
        assert _of(found, name).cache == pytest.approx(size * GIB, abs=0.02 * GIB)
    assert {one.backend: False for one in found if not one.fits} == case.get("fits", {})
    if "leaves" in case:
        shares = sum(one["share"] for one in case["engines"].values())
        assert leaves(room(case), shares) / GIB == pytest.approx(case["leaves"], abs=0.1)


def _of(found: list[Advice], name: str) -> Advice:
    return next(one for one in found if one.backend == name)


sizes = st.integers(0, 130 * GIB)


@given(
    total=st.integers(8 * GIB, 512 * GIB),
    keep=sizes,
    p95=sizes,
    more=sizes,
    shares=st.lists(st.tuples(st.none() | st.floats(0.05, 0.9), st.none() | sizes, st.none() | sizes), min_size=1),
)
def test_shares_never_take_what_must_stay_free(
    total: int, keep: int, p95: int, more: int, shares: list[tuple[float | None, int | None, int | None]]
) -> None:
    there = Room(total, keep, 3 * GIB, Others(p95, p95 + more, 10, 1))
    wishes = [Wish(str(index), *one) for index, one in enumerate(shares[:4])]
    found = advise(there, wishes)
    taken = sum(int(one.utilization * total) for one in found if one.utilization > 0.01)
    assert taken <= max(0, total - p95 - keep) + 1
    assert taken <= max(0, total - p95 - more - 3 * GIB) + 1
    assert sum(one.utilization for one in found if one.utilization > 0.01) <= 0.90 + 1e-9
