"""What nginx's log says of requests, as counters and histograms by model and copy. Pure.

The line is templates/nginx/http/log.conf.j2's. `header` is the first byte of an answer and not its first token: engines
send the header before they read the prompt.
"""

from __future__ import annotations

import bisect
import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .values import Family, Histogram, Kind, Labels

# Seconds, from a refusal to the longest request that floor.yaml allows by default.
BOUNDS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0)
NOBODY = ""  # the copy of a request that reached none
_MOST = 2000  # label sets: models, copies and statuses of a site have far fewer


@dataclass
class _Times:
    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    total: float = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect.bisect_left(BOUNDS, seconds)] += 1
        self.total += seconds

    def histogram(self) -> Histogram:
        so_far, counts = 0, []
        for count in self.counts:
            so_far += count
            counts.append(float(so_far))
        return Histogram((*BOUNDS, math.inf), tuple(counts), self.total)


class Traffic:
    """Given which copy each word for a server in the log means, counts what lines tell."""

    def __init__(self, copies: Mapping[str, str]) -> None:
        self._copies = copies
        self._requests: Counter[Labels] = Counter()
        self._tries: Counter[Labels] = Counter()
        self._first: dict[Labels, _Times] = {}
        self._whole: dict[Labels, _Times] = {}
        self._unread = 0

    def take(self, line: str) -> None:
        """Count one line of the log; one that is none is counted as such."""
        try:
            told = json.loads(line)
            self._take(told)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
            self._unread += 1

    def _take(self, told: Mapping[str, Any]) -> None:
        tried = [self._copies.get(word, NOBODY) for word in _words(told["upstream"])]
        copy = tried[-1] if tried else NOBODY
        model, status, seconds = str(told["model"]), int(told["status"]), _seconds(told["seconds"])
        last = _words(told["header"])[-1:]
        first = None if last in ([], [""], ["-"]) else _seconds(last[0])
        if len(self._requests) < _MOST:
            self._requests[(("copy", copy), ("model", model), ("status", str(status)))] += 1
        for earlier in tried[:-1]:
            if earlier:
                self._tries[(("copy", earlier), ("model", model))] += 1
        labels = (("copy", copy), ("model", model))
        if copy and len(self._whole) < _MOST:
            self._whole.setdefault(labels, _Times()).add(seconds)
            if first is not None:
                self._first.setdefault(labels, _Times()).add(first)

    def families(self) -> list[Family]:
        """What was counted, as families of the page."""
        return [
            Family(
                "floor_proxy_requests_total",
                Kind.COUNTER,
                "Requests through this box's proxy, by the copy that answered last and the status that the client got.",
                {labels: float(count) for labels, count in self._requests.items()},
            ),
            Family(
                "floor_proxy_retries_total",
                Kind.COUNTER,
                "Requests that went on to another copy because this one could not be reached.",
                {labels: float(count) for labels, count in self._tries.items()},
            ),
            Family(
                "floor_proxy_first_byte_seconds",
                Kind.HISTOGRAM,
                "Time to the first byte of the copy's answer, which is not its first token.",
                {labels: times.histogram() for labels, times in self._first.items()},
            ),
            Family(
                "floor_proxy_request_seconds",
                Kind.HISTOGRAM,
                "Time from a request's first byte to the last byte of its answer.",
                {labels: times.histogram() for labels, times in self._whole.items()},
            ),
            Family(
                "floor_proxy_unread_lines_total",
                Kind.COUNTER,
                "Lines of the proxy's log that could not be read.",
                {(): float(self._unread)},
            ),
        ]


def _seconds(value: Any) -> float:
    """A time of nginx's. Raise ValueError for what is none: any user of the box can write such a line."""
    found = float(value)
    if not 0 <= found < math.inf:
        raise ValueError("no time")
    return found


def _words(text: object) -> list[str]:
    """nginx joins the tries of one request by a comma, and those after an internal redirect by a colon."""
    return (
        [] if text in ("", "-", None) else [word.strip() for part in str(text).split(" : ") for word in part.split(",")]
    )
