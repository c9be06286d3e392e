"""Two looks as one answer."""

from __future__ import annotations

import io
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from floor.cli.metrics_table import metrics_table
from floor.metrics.report import figures, quantile
from floor.metrics.values import Histogram


def histogram(*counts: float, bounds: tuple[float, ...] = (1.0, 2.0, 4.0)) -> Histogram:
    return Histogram((*bounds, math.inf), tuple(float(count) for count in counts), None)


@pytest.mark.parametrize(
    ("counts", "share", "expected"),
    [
        ((0, 10, 10, 10), 0.5, 1.5),  # halfway through the bucket from 1 to 2
        ((10, 10, 10, 10), 0.5, 0.5),
        ((0, 0, 0, 10), 0.5, 4.0),  # beyond the last bound: nothing more is known
        ((5, 5, 10, 10), 0.5, 1.0),
        ((0, 0, 0, 0), 0.5, None),
    ],
)
def test_quantiles(counts: tuple[float, ...], share: float, expected: float | None) -> None:
    assert quantile(histogram(*counts), share) == expected


def test_a_histogram_without_bounds_has_none() -> None:
    assert quantile(Histogram((math.inf,), (5.0,), None), 0.5) is None


@given(st.lists(st.integers(0, 50), min_size=4, max_size=4), st.floats(0.01, 1), st.floats(0.01, 1))
def test_a_larger_share_is_no_smaller_value(steps: list[int], one: float, other: float) -> None:
    counts = [float(sum(steps[: at + 1])) for at in range(4)]
    low, high = quantile(histogram(*counts), min(one, other)), quantile(histogram(*counts), max(one, other))
    assert (low is None and high is None) or (low is not None and high is not None and low <= high)


def test_rates_and_what_is_not_known() -> None:
    before = {"generated_tokens_total": 100.0, "time_to_first_token_seconds": histogram(1, 2, 3, 4)}
    now = {
        "generated_tokens_total": 300.0,
        "requests_running": 4.0,
        "time_to_first_token_seconds": histogram(1, 12, 13, 14),
    }
    found = figures(before, now, 2.0)
    assert found["generated_tokens_per_second"] == 100.0
    assert found["requests_running"] == 4.0
    assert found["time_to_first_token_seconds"]["p50"] == 1.5
    assert found["prompt_tokens_per_second"] is None
    assert found["requests_waiting"] is None
    assert found["queue_seconds"] is None


def test_times_of_nothing_are_none() -> None:
    same = {"time_to_first_token_seconds": histogram(1, 2, 3, 4)}
    assert figures(same, same, 2.0)["time_to_first_token_seconds"] is None


FOUND: dict[str, Any] = {
    "asked": "spark-a",
    "seconds": 2.0,
    "models": {"m": {"copies": 2, "up": 1, **figures({}, {"requests_running": 4.0}, 2.0)}},
    "copies": [
        {
            "copy": "m@a",
            "box": "a",
            "model": "m",
            "up": True,
            "reason": "ok",
            "detail": "",
            **figures(
                {"generated_tokens_total": 0.0, "time_to_first_token_seconds": histogram(0, 0, 0, 0)},
                {
                    "generated_tokens_total": 222.0,
                    "requests_running": 4.0,
                    "kv_cache_usage_ratio": 0.4,
                    "kv_cache_tokens": 262144.0,
                    "time_to_first_token_seconds": histogram(10, 10, 10, 10),
                },
                2.0,
            ),
        },
        {
            "copy": "m@b",
            "box": "b",
            "model": "m",
            "up": False,
            "reason": "refused",
            "detail": "connection refused",
            **figures({}, {"loaded": 0.0}, 2.0),
        },
    ],
}


def test_the_table() -> None:
    out = io.StringIO()
    metrics_table(FOUND, Console(file=out, width=400))
    lines = [line.split() for line in out.getvalue().splitlines()]
    assert lines[1] == ["m@a", "111.0", "-", "4", "-", "40%", "of", "262,144", "0.50", "s"]
    assert lines[2] == ["m@b", "-", "-", "-", "-", "not", "loaded", "-", "refused:", "connection", "refused"]
    assert lines[3] == ["m,", "all", "-", "-", "4", "-", "-", "-", "1", "of", "2", "can", "be", "read"]
    assert " ".join(lines[4]) == "read by spark-a, rates over 2.0 s"
