"""Tokens a second of one copy, by how many requests it decodes at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Curve:
    """Measured points (requests at once, total tok/s), ascending. Called with n, it returns total tok/s.

    Between points it is linear. Beyond the last it is flat: nothing was measured there. Below the first, each request
    is as fast as at the first point: alone it cannot be slower than in company.
    """

    points: tuple[tuple[int, float], ...]

    def __post_init__(self) -> None:
        counts = [count for count, _ in self.points]
        if not counts or counts != sorted(set(counts)) or counts[0] < 1:
            raise ValueError("a curve needs one point or more, each for more requests than the one before, from 1 up")
        if any(rate <= 0 for _, rate in self.points):
            raise ValueError("a curve's rates are above 0 tok/s")

    def __call__(self, running: int) -> float:
        counts = [count for count, _ in self.points]
        at = bisect_right(counts, running)
        if at == 0:
            count, rate = self.points[0]
            return rate * running / count
        if at == len(self.points):
            return self.points[-1][1]
        (low, slow), (high, fast) = self.points[at - 1 : at + 1]
        return slow + (fast - slow) * (running - low) / (high - low)

    def times(self, factor: float) -> Curve:
        """The same curve, every rate multiplied by `factor`."""
        return Curve(tuple((count, rate * factor) for count, rate in self.points))


# Measured on one GB10 box with a 4-bit build and 4 drafted tokens: chats, and agents with long prompts,
# where more than eight at once made it slower.
PRESETS = {
    "short": Curve(((1, 36.0), (4, 82.0), (8, 109.0), (16, 150.0))),
    "long": Curve(((4, 81.0), (8, 113.0), (16, 87.0))),
}


def parse_curve(text: str) -> Curve:
    """Read `1:36,4:82`. Raises ValueError when a point is not `requests:rate` or the points do not ascend."""
    return Curve(tuple(_points(text.split(","))))


def _points(parts: Iterable[str]) -> Iterable[tuple[int, float]]:
    for part in parts:
        count, colon, rate = part.partition(":")
        if not colon:
            raise ValueError(f"{part!r} is not REQUESTS:RATE")
        yield int(count), float(rate)
