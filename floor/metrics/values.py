"""What one series of a metrics page holds, and how two of them become one. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

Labels = tuple[tuple[str, str], ...]
"""Names and values, in the order of the names."""


class Kind(StrEnum):
    """The type of a family, as the text format writes it."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"
    SUMMARY = "summary"
    UNTYPED = "untyped"


GROWING = (Kind.COUNTER, Kind.HISTOGRAM, Kind.SUMMARY)  # what only a restart makes smaller


@dataclass(frozen=True, slots=True)
class Histogram:
    """`bounds` ascending, the last one is infinity; `counts` are cumulative. `sum` None: the page has none."""

    bounds: tuple[float, ...]
    counts: tuple[float, ...]
    sum: float | None

    @property
    def count(self) -> float:
        return self.counts[-1]


@dataclass(frozen=True, slots=True)
class Summary:
    """`quantiles` are (share, value); they cannot be added and are left out of what several come to."""

    count: float | None
    sum: float | None
    quantiles: tuple[tuple[float, float], ...] = ()


Value = float | Histogram | Summary


@dataclass(frozen=True, slots=True)
class Family:
    """All series of one name."""

    name: str
    kind: Kind
    help: str
    children: Mapping[Labels, Value]


Page = Mapping[str, Family]
"""A metrics page, by the names of its families."""


def add(values: Sequence[Value]) -> Value:
    """Given one or more values of one kind, return what they come to.

    Buckets are compared as numbers and added where every histogram has them: a bound that one of them lacks says
    nothing of that one (prometheus/OpenMetrics#197). A sum that one of them lacks is none.
    """
    first = values[0]
    if len(values) == 1:
        return first if not isinstance(first, Summary) else Summary(first.count, first.sum)
    if isinstance(first, Histogram):
        return _histograms([value for value in values if isinstance(value, Histogram)])
    if isinstance(first, Summary):
        found = [value for value in values if isinstance(value, Summary)]
        return Summary(total([value.count for value in found]), total([value.sum for value in found]))
    return exact(value for value in values if isinstance(value, float))


def total(values: Sequence[float | None]) -> float | None:
    """Return the exact sum, None if one of them is unknown."""
    known = [value for value in values if value is not None]
    return exact(known) if len(known) == len(values) else None


def exact(values: Iterable[float]) -> float:
    """Return the sum, rounded once. Infinities of both signs come to NaN, and what no double holds to infinity: nothing
    that an engine tells is raised, or its page would cost that of all others."""
    found = list(values)
    try:
        return math.fsum(found)
    except (ValueError, OverflowError):
        return sum(found, 0.0)


def _histograms(found: Sequence[Histogram]) -> Histogram:
    bounds = found[0].bounds
    if all(one.bounds == bounds for one in found):
        counts = tuple(map(exact, zip(*(one.counts for one in found), strict=True)))
    else:
        tables = [dict(zip(one.bounds, one.counts, strict=True)) for one in found]
        common = set(bounds).intersection(*tables)
        bounds = tuple(sorted(common))
        counts = tuple(exact(table[bound] for table in tables) for bound in bounds)
    return Histogram(bounds, counts, total([one.sum for one in found]))


def fell(before: Value, now: Value) -> bool:
    """Whether something that only grows is smaller than it was: its process began anew."""
    if isinstance(before, Histogram) and isinstance(now, Histogram):
        if before.bounds == now.bounds:
            return any(new < old for old, new in zip(before.counts, now.counts, strict=True))
        return now.count < before.count
    if isinstance(before, Summary) and isinstance(now, Summary):
        return before.count is not None and now.count is not None and now.count < before.count
    return isinstance(before, float) and isinstance(now, float) and now < before
