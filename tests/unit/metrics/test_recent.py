"""Rates and times of a few looks."""

from __future__ import annotations

import math

import pytest

from floor.metrics.merge import Part
from floor.metrics.recent import KEEP, Point, Recent, of_model, short
from floor.metrics.values import Histogram, Value

HOLD = 10.0


def point(at: float, tokens: float, copy: str = "m@a", **more: Value) -> Point:
    figures: dict[str, Value] = {"generated_tokens_total": float(tokens), "requests_running": 2.0, **more}
    return Point(at, Part(copy, "a", "m", {}, figures))


def recent(*points: Point) -> Recent:
    found = Recent()
    for one in points:
        found.add(one, 0)
    return found


def test_a_rate_is_of_the_last_seconds() -> None:
    found = recent(point(0, 0), point(2, 200), point(4, 400), point(6, 800))
    assert found.told(6.0, HOLD)["generated_tokens_per_second"] == pytest.approx((800 - 200) / 4)
    assert found.told(6.0, HOLD)["requests_running"] == 2.0


def test_one_look_tells_what_is_and_no_rate() -> None:
    told = recent(point(0, 5)).told(0.0, HOLD)
    assert (told["requests_running"], told["generated_tokens_per_second"]) == (2.0, None)


def test_an_old_look_tells_nothing() -> None:
    found = recent(point(0, 0), point(5, 10))
    assert found.told(5 + HOLD, HOLD)["requests_running"] == 2.0
    assert all(value is None for value in short(found.told(5 + HOLD + 0.1, HOLD)).values())
    assert all(value is None for value in short(Recent().told(0.0, HOLD)).values())


def test_a_fresh_start_begins_anew() -> None:
    found = recent(point(0, 900), point(5, 1000))
    found.add(point(6, 1003), 1)
    assert len(found.points) == 1
    assert found.told(6.0, HOLD)["generated_tokens_per_second"] is None


def test_the_same_look_is_one() -> None:
    assert len(recent(point(1, 1), point(1, 1)).points) == 1


def test_only_the_last_minute_is_kept() -> None:
    found = recent(*(point(float(at), at) for at in range(0, 200, 5)))
    assert found.points[-1].at - found.points[0].at == KEEP


def test_times_are_those_of_the_last_minute() -> None:
    def buckets(*counts: float) -> Histogram:
        return Histogram((1.0, 2.0, math.inf), counts, None)

    name = "time_to_first_token_seconds"
    found = recent(point(0, 0, **{name: buckets(5, 5, 5)}), point(20, 9, **{name: buckets(5, 15, 15)}))
    found.add(point(25, 9, **{name: buckets(5, 15, 15)}), 0)  # nothing in the last five seconds
    assert found.told(25.0, HOLD)[name] == {"p50": 1.5, "p90": 1.9, "p99": pytest.approx(1.99)}


def test_a_model_is_the_sum_of_those_that_tell() -> None:
    one = recent(point(0, 0), point(5, 50))
    other = recent(point(1, 0, "m@b"), point(6, 100, "m@b"))
    old = recent(point(-60, 0, "m@c"), point(-50, 1e9, "m@c"))
    told = of_model("m", [one, other, old], 6.0, HOLD)
    assert told["generated_tokens_per_second"] == 30.0
    assert told["requests_running"] == 4.0
    assert of_model("m", [old], 6.0, HOLD)["generated_tokens_per_second"] is None
