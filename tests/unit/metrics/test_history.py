"""The last hour as charts draw it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from floor.metrics.history import EVERY, MOST, History, restore

RATE = "generated_tokens_per_second"


def told(rate: float | None) -> dict[str, dict[str, Any]]:
    return {"model:m": {RATE: rate, "requests_running": 1.0}, "copy:m@a": {RATE: rate}}


def rates(history: History, name: str = "copy:m@a") -> list[float | None]:
    return history.series[name][RATE]


def test_a_value_every_fifteen_seconds() -> None:
    history = History()
    assert history.add(0.0, told(1.0))
    assert not history.add(EVERY - 1, told(2.0))
    assert history.add(EVERY, told(3.0))
    assert rates(history) == [None] * (MOST - 2) + [1.0, 3.0]
    assert history.as_json()["at"] == EVERY
    assert set(history.series["model:m"]) > {RATE, "kv_cache_usage_ratio"}
    assert set(history.series["copy:m@a"]) == {RATE}


def test_a_hole_stays_one() -> None:
    history = History()
    history.add(0.0, told(1.0))
    history.add(4 * EVERY, told(2.0))
    assert rates(history)[-5:] == [1.0, None, None, None, 2.0]


def test_an_hour_and_no_more() -> None:
    history = History()
    for at in range(MOST + 50):
        history.add(at * EVERY, told(float(at)))
    assert rates(history) == [float(at) for at in range(50, MOST + 50)]


@pytest.mark.parametrize("unix", [-5 * EVERY, MOST * EVERY * 2])
def test_a_clock_that_jumps_begins_anew(unix: float) -> None:
    history = History()
    history.add(0.0, told(1.0))
    assert history.add(unix, told(2.0))
    assert rates(history) == [None] * (MOST - 1) + [2.0]


def test_a_copy_that_comes_later_has_nothing_before() -> None:
    history = History()
    history.add(0.0, told(1.0))
    history.add(EVERY, {**told(2.0), "copy:m@b": {RATE: 5.0}})
    assert rates(history, "copy:m@b") == [None] * (MOST - 1) + [5.0]
    history.add(2 * EVERY, {"model:m": {}})
    assert set(history.series) == {"model:m"}


def test_it_comes_back_from_its_file() -> None:
    history = History()
    history.add(0.0, told(1.0))
    history.add(EVERY, told(None))
    assert restore(json.dumps(history.as_json())) == history
    assert restore(json.dumps(History().as_json())) == History()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no",
        "[]",
        "{}",
        '{"at": 0, "every": 5, "series": {}}',
        '{"at": 0, "every": 15.0, "series": {"m": {"x": [1]}}}',
    ],
)
def test_what_is_none_counts_as_empty(text: str) -> None:
    assert restore(text) == History()
