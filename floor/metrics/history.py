"""The last hour, for small charts: a value of each series every 15 seconds. Pure.

It is kept in a file, so that a restart of the service (a switch restarts it) leaves no hole behind it that is longer.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

EVERY = 15.0  # seconds
MOST = 240  # values: an hour
MODEL = ("generated_tokens_per_second", "requests_running", "requests_waiting", "kv_cache_usage_ratio")
COPY = ("generated_tokens_per_second",)
Series = dict[str, list[float | None]]


@dataclass
class History:
    """`end` is the number of the last slot (unix seconds / EVERY); each series has a value for each of the `MOST` slots
    that end there, None where nothing was known."""

    end: int | None = None
    series: dict[str, Series] = field(default_factory=dict)

    def add(self, unix: float, told: Mapping[str, Mapping[str, Any]]) -> bool:
        """Given unix seconds and figures by name (`model:M`, `copy:C`), remember them if a new slot has begun. Return
        whether one had. A clock that was set back begins anew."""
        slot = math.floor(unix / EVERY)
        if self.end is not None and slot == self.end:
            return False
        if self.end is None or slot < self.end or slot - self.end >= MOST:
            self.series = {}
            self.end = slot - 1
        gap = slot - self.end - 1
        kept: dict[str, Series] = {}
        for name, figures in told.items():
            before = self.series.get(name, {})
            kept[name] = {
                one: [*before.get(one, [None] * MOST), *[None] * gap, _short(figures.get(one))][-MOST:]
                for one in (MODEL if name.startswith("model:") else COPY)
            }
        self.series, self.end = kept, slot
        return True

    def as_json(self) -> dict[str, Any]:
        """What a page draws: when the last slot began (unix seconds), how many seconds a slot has, and the series."""
        return {"at": None if self.end is None else self.end * EVERY, "every": EVERY, "series": self.series}


def restore(text: str) -> History:
    """Given what `as_json` returned, as JSON, return the history; an empty one where it is none."""
    try:
        found = json.loads(text)
        series = {
            str(name): {str(one): [_short(value) for value in values] for one, values in each.items()}
            for name, each in found["series"].items()
        }
        if found["every"] != EVERY or any(len(values) != MOST for each in series.values() for values in each.values()):
            return History()
        return History(None if found["at"] is None else round(float(found["at"]) / EVERY), series)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return History()


def _short(value: object) -> float | None:
    if not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return round(float(value), 3)
