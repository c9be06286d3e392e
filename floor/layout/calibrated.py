"""What a backend was measured at, and the speeds between and beyond that. It goes before the speed model.

A step of b requests with d tokens before each takes base(b) + slope · b · d seconds: what all share, and what each
reads of its own cache. The slope is that of one stream at several depths, the base lies on the line between the counts
that were measured.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

_LEAST = 0.2  # of a measured step: what it takes at least beside what it reads of its caches


@dataclass(frozen=True)
class Point:
    """One measurement: `at_once` streams, each of a `prompt` and an `answer` of so many tokens; `first`: seconds until
    all prompts were read, `speed`: tokens a second of all together."""

    at_once: int
    prompt: int
    answer: int
    first: float
    speed: float

    @property
    def depth(self) -> float:
        """Tokens before each request, in the middle of its answer."""
        return self.prompt + self.answer / 2

    @property
    def step(self) -> float:
        """Seconds in which each of them gets a token."""
        return self.at_once / self.speed


@dataclass(frozen=True)
class Speeds:
    """A backend's measurements, at least one of a single stream."""

    points: tuple[Point, ...]

    def step(self, requests: float, depth: float) -> float:
        """Given how many requests run and how many tokens each has before it, return the seconds in which each of them
        gets a token."""
        return _line(self._bases, requests) + self.slope * requests * depth

    def together(self, requests: float, depth: float) -> float:
        """Given the same, return the tokens a second of all of them."""
        return requests / self.step(requests, depth)

    def reading(self, tokens: float) -> float:
        """Given the tokens of a prompt, return the seconds until it is read.

        On the line between prompts that were measured; beyond the longest as the last two grow, between in proportion
        and with the square.
        """
        found = sorted((point.prompt, point.first) for point in self.points if point.at_once == 1)
        (longest, seconds), shorter = found[-1], found[:-1]
        if tokens <= longest:
            return _line(dict(found), tokens) if tokens >= found[0][0] else found[0][1]
        power = 1.0
        if shorter and shorter[-1][0] < longest and seconds > shorter[-1][1] > 0:
            power = math.log(seconds / shorter[-1][1]) / math.log(longest / shorter[-1][0])
        return float(seconds * (tokens / longest) ** min(2.0, max(1.0, power)))

    @cached_property
    def slope(self) -> float:
        """Seconds that a step takes longer for each token before a request: least squares of relative errors."""
        alone = [(point.depth, point.step) for point in self.points if point.at_once == 1]
        a, b = sum((x / y) ** 2 for x, y in alone), sum(x / y**2 for x, y in alone)
        c, d, e = sum(1 / y**2 for _, y in alone), sum(x / y for x, y in alone), sum(1 / y for _, y in alone)
        bottom = a * c - b * b
        return max(0.0, (d * c - e * b) / bottom) if len(alone) > 1 and bottom > 1e-9 * a * c else 0.0

    @cached_property
    def _bases(self) -> dict[int, float]:
        found: dict[int, list[float]] = {}
        for point in self.points:
            beside = point.step - self.slope * point.at_once * point.depth
            found.setdefault(point.at_once, []).append(max(_LEAST * point.step, beside))
        return {many: sum(some) / len(some) for many, some in found.items()}


def parse(entries: Sequence[Mapping[str, Any]]) -> Speeds | None:
    """Given what a box has kept of measurements, return them; None where they are damaged or none is alone."""
    try:
        found = tuple(
            Point(int(one["at_once"]), int(one["prompt"]), int(one["answer"]), float(one["first"]), float(one["speed"]))
            for one in entries
        )
    except (KeyError, TypeError, ValueError):
        return None
    good = all(min(one.at_once, one.prompt, one.answer, one.first, one.speed) > 0 for one in found)
    return Speeds(found) if good and any(one.at_once == 1 for one in found) else None


def middle(tries: Sequence[Point]) -> Point:
    """Given the same measurement several times, return the one of middle speed."""
    return sorted(tries, key=lambda point: point.speed)[(len(tries) - 1) // 2]


def _line(points: Mapping[int, float], at: float) -> float:
    """The value at a place: on the line between two points, beyond the last on that of the last two, never falling."""
    ordered = sorted(points.items())
    if at <= ordered[0][0] or len(ordered) == 1:
        return ordered[0][1]
    for (low, under), (high, above) in itertools.pairwise(ordered):
        if at <= high:
            return under + (above - under) * (at - low) / (high - low)
    (low, under), (high, above) = ordered[-2:]
    return above + max(0.0, (above - under) / (high - low)) * (at - high)
