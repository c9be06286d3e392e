"""What else has run on this box: how much memory was taken by others than engines, kept by day. Pure.

A day is a count of readings for each quarter of a GiB, so 30 days are some kilobytes however often is read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from floor.sizes import GIB

STEP = GIB // 4  # bytes: a share is rounded down to hundredths, of 1.2 GiB on such a box
DAYS = 30
DAY = 86400.0
PART = 0.95


@dataclass(frozen=True)
class History:
    """Readings by day (days since 1970 by the box's clock) and step: how often others took that much.

    `most` is the largest reading of each day, in bytes.
    """

    days: Mapping[int, Mapping[int, int]] = field(default_factory=dict)
    most: Mapping[int, int] = field(default_factory=dict)

    @property
    def readings(self) -> int:
        return sum(sum(day.values()) for day in self.days.values())


@dataclass(frozen=True)
class Others:
    """What others took, in bytes: 95 of 100 readings were at most `p95`, none above `most`; from `readings` readings on
    `days` days."""

    p95: int
    most: int
    readings: int
    days: int


def add(history: History, taken: int, unix: float) -> History:
    """Given how many bytes others take now and unix seconds, return the history with it; days beyond the 30th go."""
    today = int(unix // DAY)
    step = math.ceil(max(0, taken) / STEP)
    day = dict(history.days.get(today, {}))
    day[step] = day.get(step, 0) + 1
    days = {key: one for key, one in {**history.days, today: day}.items() if today - DAYS < key <= today}
    most = {**history.most, today: max(history.most.get(today, 0), max(0, taken))}
    return History(days, {key: one for key, one in most.items() if key in days})


def others(history: History) -> Others | None:
    """Return what others took over all days kept; None where nothing was read yet."""
    counts: dict[int, int] = {}
    for day in history.days.values():
        for step, count in day.items():
            counts[step] = counts.get(step, 0) + count
    total = sum(counts.values())
    if not total:
        return None
    below, p95 = 0, 0
    for step in sorted(counts):
        below, p95 = below + counts[step], step
        if below >= total * PART:
            break
    most = max(history.most.values())
    return Others(min(p95 * STEP, most), most, total, len(history.days))


def as_json(history: History) -> dict[str, Any]:
    """Return the history as what `json.dumps` takes."""
    days = {str(day): {str(step): count for step, count in one.items()} for day, one in history.days.items()}
    return {"step": STEP, "days": days, "most": {str(day): most for day, most in history.most.items()}}


def from_json(found: Mapping[str, Any]) -> History:
    """Given what `as_json` returned, return the history. Raise ValueError, KeyError or TypeError for something else."""
    if found["step"] != STEP:
        return History()
    days = {int(day): {int(step): int(count) for step, count in one.items()} for day, one in found["days"].items()}
    return History(days, {int(day): int(most) for day, most in found["most"].items()})
