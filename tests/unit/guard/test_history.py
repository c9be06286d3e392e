"""What others took: 95 of 100 readings, the largest one, and how long they are kept."""

from __future__ import annotations

import json

from floor.guard.history import DAY, History, add, as_json, from_json, others
from floor.guard.settings import GIB

MONDAY = 20_000 * DAY


def filled(readings: list[tuple[float, float]]) -> History:
    history = History()
    for day, size in readings:
        history = add(history, int(size * GIB), MONDAY + day * DAY)
    return history


def test_nothing_read_is_nothing_known() -> None:
    assert others(History()) is None


def test_usual_and_most() -> None:
    found = others(filled([(0, 22.0)] * 96 + [(0, 40.1)] * 4))
    assert found is not None
    assert (found.p95, found.readings, found.days) == (22 * GIB, 100, 1)
    assert found.most == int(40.1 * GIB)


def test_a_reading_is_rounded_up_to_its_step_and_never_above_the_most() -> None:
    found = others(filled([(0, 21.8), (0, 21.9)]))
    assert found is not None
    assert found.p95 == found.most == int(21.9 * GIB)


def test_days_beyond_the_thirtieth_go() -> None:
    found = others(filled([(0, 60.0), (1, 50.0), (30, 10.0)]))
    assert found is not None
    assert found.most == 50 * GIB
    later = others(filled([(0, 60.0), (31, 10.0)]))
    assert later is not None
    assert (later.most, later.days) == (10 * GIB, 1)


def test_it_survives_its_file() -> None:
    history = filled([(0, 22.0), (0, 23.4), (3, 8.0)])
    assert from_json(json.loads(json.dumps(as_json(history)))) == history


def test_a_clock_that_was_set_back_keeps_nothing_from_the_future() -> None:
    history = add(filled([(10, 60.0)]), 5 * GIB, MONDAY)
    found = others(history)
    assert found is not None
    assert found.most == 5 * GIB
