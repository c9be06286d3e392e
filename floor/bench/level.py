"""What one level of a run came to: tokens a second, requests a minute, times. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

SLICES = 4  # a level is measured in so many stretches of the same length: how far they lie apart is its spread
SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


@dataclass(frozen=True)
class Record:
    """One request. Times are seconds of one clock; `first` and `last` of a token, None where none came.

    `tokens` are by the engine's own count. `error` says what was wrong, empty where nothing was.
    """

    began: float
    ended: float
    first: float | None = None
    last: float | None = None
    tokens: int = 0
    prompt: int | None = None
    error: str = ""

    def within(self, start: float, end: float) -> float:
        """How many of its tokens came between two moments: they are spread evenly from the first to the last."""
        if self.first is None or self.last is None or not self.tokens:
            return 0.0
        if self.last <= self.first:
            return float(self.tokens) if start <= self.first < end else 0.0
        common = min(end, self.last) - max(start, self.first)
        return self.tokens * max(0.0, common) / (self.last - self.first)


@dataclass(frozen=True)
class Level:
    """`at` requests at once (in an open loop: requests offered a second). `rates` are tokens a second in each slice.

    `first` and `each` are shares of the times to the first token and between tokens, seconds; empty where none came.
    `busy` is the part of a processor's time that asking took.
    """

    at: float
    rates: tuple[float, ...]
    requests_per_minute: float
    first: dict[str, float]
    each: dict[str, float]
    requests: int
    errors: int
    error: str = ""
    busy: float = 0.0

    @property
    def rate(self) -> float:
        """Tokens a second over all slices. Not their median: where prompts take long to read, most of the tokens come
        in few of the slices, and the median would tell half of them or none."""
        return statistics.fmean(self.rates)

    @property
    def spread(self) -> float:
        """How far the slices lie apart, as a share of the rate: half of the distance between the quarters."""
        if len(self.rates) < 2 or not self.rate:
            return 0.0
        low, _, high = statistics.quantiles(self.rates, n=4, method="inclusive")
        return (high - low) / 2 / self.rate

    @property
    def failing(self) -> float:
        """The share of requests that failed."""
        return self.errors / self.requests if self.requests else 0.0


def level(at: float, records: Sequence[Record], start: float, end: float, slices: int = SLICES) -> Level:
    """Given the requests of a level, and from when to when it was under full load, return what it came to.

    Requests that began before or ended after count with what came of them in that time, so that neither the rise at the
    beginning nor the last slow answers at the end make it look slower than it is.
    """
    step = (end - start) / slices
    edges = [start + step * number for number in range(slices + 1)]
    rates = tuple(
        sum(record.within(low, high) for record in records) / step if step > 0 else 0.0 for low, high in pairwise(edges)
    )
    inside = [record for record in records if start <= record.ended <= end]
    good = [record for record in inside if not record.error]
    wrong = [record.error for record in records if record.error]
    firsts = [record.first - record.began for record in good if record.first is not None]
    each = [
        (record.last - record.first) / (record.tokens - 1)
        for record in good
        if record.first is not None and record.last is not None and record.tokens > 1
    ]
    return Level(
        at=at,
        rates=rates,
        requests_per_minute=60 * len(good) / (end - start) if end > start else 0.0,
        first=shares(firsts),
        each=shares(each),
        requests=len(records),
        errors=len(wrong),
        error=max(set(wrong), key=wrong.count) if wrong else "",
    )


def shares(values: Sequence[float]) -> dict[str, float]:
    """Given values, return those below which the shares of SHARES lie (the smallest value that is not below)."""
    ordered = sorted(values)
    return (
        {name: ordered[max(0, math.ceil(share * len(ordered)) - 1)] for name, share in SHARES.items()}
        if ordered
        else {}
    )


def to_json(found: Level) -> dict[str, Any]:
    """A level as it is kept and printed."""
    return {
        "at": found.at,
        "tokens_per_second": round(found.rate, 2),
        "spread": round(found.spread, 4),
        "rates": [round(rate, 3) for rate in found.rates],
        "requests_per_minute": round(found.requests_per_minute, 2),
        "first_token": {name: round(value, 4) for name, value in found.first.items()},
        "each_token": {name: round(value, 5) for name, value in found.each.items()},
        "requests": found.requests,
        "errors": found.errors,
        "error": found.error,
        "busy": round(found.busy, 3),
    }


def from_json(entry: dict[str, Any]) -> Level:
    """What `to_json` made. Raise ValueError, TypeError or KeyError if it is none."""
    if not entry["rates"]:
        raise ValueError("a level without a rate")
    return Level(
        float(entry["at"]),
        tuple(float(rate) for rate in entry["rates"]),
        float(entry["requests_per_minute"]),
        {str(name): float(value) for name, value in entry["first_token"].items()},
        {str(name): float(value) for name, value in entry["each_token"].items()},
        int(entry["requests"]),
        int(entry["errors"]),
        str(entry["error"]),
        float(entry.get("busy", 0.0)),
    )
