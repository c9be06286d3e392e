"""Throughput by requests at once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floor.sim.curve import PRESETS, Curve, parse_curve


@pytest.mark.parametrize(
    ("preset", "running", "rate"),
    [
        ("short", 1, 36),
        ("short", 4, 82),
        ("short", 8, 109),
        ("short", 16, 150),
        ("long", 4, 81),
        ("long", 8, 113),
        ("long", 16, 87),
    ],
)
def test_presets_are_the_measured_figures(preset: str, running: int, rate: float) -> None:
    assert PRESETS[preset](running) == rate


def test_long_prompts_get_slower_beyond_eight() -> None:
    assert PRESETS["long"](12) == pytest.approx(100)
    assert PRESETS["long"](8) > PRESETS["long"](12) > PRESETS["long"](16)


def test_flat_beyond_the_last_point() -> None:
    assert PRESETS["short"](100) == 150


def test_below_the_first_point_each_request_keeps_its_pace() -> None:
    assert PRESETS["long"](1) == pytest.approx(81 / 4)


def test_a_faster_clock_multiplies_every_rate() -> None:
    assert PRESETS["short"].times(10)(4) == 820


@given(st.integers(1, 64))
def test_between_points_it_stays_between_their_rates(running: int) -> None:
    curve = PRESETS["short"]
    low = max((rate for count, rate in curve.points if count <= running), default=0)
    high = min((rate for count, rate in curve.points if count >= running), default=150)
    assert low <= curve(running) <= high


def test_reads_a_curve() -> None:
    assert parse_curve("1:36,4:82.5") == Curve(((1, 36.0), (4, 82.5)))


@pytest.mark.parametrize("text", ["", "1", "a:3", "1:b", "1:1,1:2", "0:5", "2:-1"])
def test_refuses_what_is_no_curve(text: str) -> None:
    with pytest.raises(ValueError):
        parse_curve(text)
