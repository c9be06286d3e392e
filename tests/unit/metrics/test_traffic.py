"""The proxy's log as counters and histograms."""

from __future__ import annotations

import json
from typing import Any

import pytest

from floor.metrics.page import write
from floor.metrics.traffic import BOUNDS, Traffic
from tests.metrics_page import check

A, B = "10.0.0.1:8000", "unix:/run/floor/nginx/detour-0123456789ab.sock"


def line(**changes: object) -> str:
    """A line as nginx writes it."""
    told = {
        "time": "2026-01-01T00:00:00+00:00",
        "model": "flagship",
        "status": 200,
        "seconds": 2.0,
        "upstream": A,
        "upstream_status": "200",
        "header": "0.040",
        "response": "2.000",
    }
    return json.dumps({**told, **changes})


def counted(*lines: str) -> dict[str, float]:
    traffic = Traffic({A: "flagship@a", B: "flagship@b"})
    for one in lines:
        traffic.take(one)
    found = {}
    for (name, labels), value in check(write(traffic.families())).items():
        told = dict(labels)
        key = name.removeprefix("floor_proxy_") + "".join(
            f" {told[label]}" for label in ("copy", "status", "le") if label in told
        )
        if value:
            found[key] = value
    return found


def test_an_answer() -> None:
    found = counted(line())
    assert found["requests_total flagship@a 200"] == 1
    assert found["first_byte_seconds_sum flagship@a"] == pytest.approx(0.04)
    assert "first_byte_seconds_bucket flagship@a 0.01" not in found
    assert found["first_byte_seconds_bucket flagship@a 0.05"] == 1
    assert found["request_seconds_count flagship@a"] == 1
    assert found["request_seconds_bucket flagship@a 2.5"] == 1


def test_a_try_that_went_on() -> None:
    """The copy that could not be reached is named; times are those of who answered."""
    found = counted(line(upstream=f"{A}, {B}", header="-, 0.200", upstream_status="502, 200"))
    assert found["requests_total flagship@b 200"] == 1
    assert found["retries_total flagship@a"] == 1
    assert found["first_byte_seconds_sum flagship@b"] == pytest.approx(0.2)


def test_nobody_answered() -> None:
    """The empty pool's own server is no copy."""
    found = counted(line(status=503, upstream="unix:/run/floor/nginx/empty.sock", header="0.000"))
    assert found == {"requests_total  503": 1}
    found = counted(line(status=503, upstream=f"{A} : unix:/run/floor/nginx/empty.sock", header="- : 0.0"))
    assert found == {"requests_total  503": 1, "retries_total flagship@a": 1}


def test_a_request_that_nginx_itself_answered() -> None:
    assert counted(line(status=404, upstream="", header="")) == {"requests_total  404": 1}


def test_a_client_that_went_away() -> None:
    found = counted(line(status=499, header="-"))
    assert found["requests_total flagship@a 499"] == 1
    assert "first_byte_seconds_count flagship@a" not in found


@pytest.mark.parametrize("text", ["", "no JSON", "[]", "{}", '{"upstream": 3}', line(status="x"), "[" * 100_000])
def test_lines_that_are_none(text: str) -> None:
    assert counted(text) == {"unread_lines_total": 1}


INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize(
    "told", [{"status": INF}, {"seconds": NAN}, {"seconds": INF}, {"seconds": -5}, {"header": "nan"}, {"header": "inf"}]
)
def test_numbers_that_nginx_does_not_write(told: dict[str, Any]) -> None:
    """Any user of the box can log under nginx's name: such a line ends nothing, and spoils no sum."""
    assert counted(line(**told)) == {"unread_lines_total": 1}


def test_longer_than_any_bound() -> None:
    found = counted(line(seconds=BOUNDS[-1] * 2))
    assert found["request_seconds_bucket flagship@a +Inf"] == 1
    assert f"request_seconds_bucket flagship@a {BOUNDS[-1]}" not in found
