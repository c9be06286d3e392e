"""What one level came to."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floor.bench.level import Level, Record, from_json, level, shares, to_json


def test_tokens_count_when_they_came() -> None:
    """A request that began before the measured time, or ended after it, counts with its part in it."""
    record = Record(began=0.0, ended=10.0, first=2.0, last=10.0, tokens=80)
    assert record.within(0, 10) == 80
    assert record.within(4, 6) == 20
    assert record.within(0, 2) == record.within(10, 20) == 0


def test_a_single_token_and_none() -> None:
    assert Record(0.0, 1.0, first=0.5, last=0.5, tokens=1).within(0, 1) == 1
    assert Record(0.0, 1.0).within(0, 1) == 0


@given(st.lists(st.floats(0, 100), min_size=2, max_size=6))
def test_every_token_counts_once(edges: list[float]) -> None:
    record = Record(began=0.0, ended=100.0, first=0.0, last=100.0, tokens=1000)
    edges = [0.0, *sorted(edges), 100.0]
    assert sum(record.within(low, high) for low, high in pairwise(edges)) == pytest.approx(1000)


def test_a_steady_level() -> None:
    """Two at once, 50 tok/s each, answers of 100 tokens one after the other."""
    records = [
        Record(began=2.0 * at, ended=2.0 * at + 2.0, first=2.0 * at, last=2.0 * at + 2.0, tokens=100)
        for at in range(10)
        for _ in range(2)
    ]
    found = level(2, records, 4.0, 16.0)
    assert found.rates == pytest.approx((100.0,) * 4)
    assert (found.rate, found.spread) == (pytest.approx(100.0), pytest.approx(0.0))
    assert found.requests_per_minute == pytest.approx(70.0)  # those that ended in these 12 s, both edges included
    assert found.each["p50"] == pytest.approx(2 / 99)


def test_long_prompts_are_all_of_a_level_and_not_its_middle() -> None:
    """25 s of reading and 10 s of answering over and over: in most of the slices of a level of 60 s nothing comes."""
    records = [
        Record(began=35.0 * at, ended=35.0 * at + 35, first=35.0 * at + 25, last=35.0 * at + 35, tokens=200)
        for at in range(3)
    ]
    found = level(1, records, 12.0, 60.0)
    assert found.rates == pytest.approx((0.0, 200 / 12, 0.0, 0.0))
    assert found.rate == pytest.approx(200 / 48)


def test_errors_are_counted_and_named() -> None:
    good = Record(0.0, 1.0, first=0.1, last=1.0, tokens=10)
    found = level(
        4, [good, Record(0.0, 0.1, error="503"), Record(0.2, 0.3, error="503"), Record(0.2, 0.3, error="x")], 0, 1
    )
    assert (found.requests, found.errors, found.error, found.failing) == (4, 3, "503", 0.75)


def test_nothing_came() -> None:
    found = level(4, [], 0.0, 0.0)
    assert (found.rate, found.spread, found.failing, found.first) == (0.0, 0.0, 0.0, {})


def test_spread_is_of_the_slices() -> None:
    assert Level(1, (90.0, 100.0, 100.0, 110.0), 0, {}, {}, 1, 0).spread == pytest.approx(0.025)


@pytest.mark.parametrize(("count", "p50", "p99"), [(1, 1, 1), (2, 1, 2), (100, 50, 99), (101, 51, 100)])
def test_shares(count: int, p50: float, p99: float) -> None:
    found = shares([float(value) for value in range(count, 0, -1)])
    assert (found["p50"], found["p99"]) == (p50, p99)


def test_what_is_kept_is_read_again() -> None:
    found = Level(8, (1.0, 2.0), 3.0, {"p50": 0.5}, {"p50": 0.01}, 10, 1, "x")
    assert from_json(to_json(found)) == found
    with pytest.raises(KeyError):
        from_json({"at": 1})
    with pytest.raises(ValueError, match="a level without a rate"):
        from_json({**to_json(found), "rates": []})
