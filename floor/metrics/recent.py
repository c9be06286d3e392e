"""What copies did lately, from a few looks at each: rates and times as people are shown them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .merge import Part, of_models
from .normalise import Figures
from .report import NOW, RATES, TIMES, figures

KEEP = 60.0  # seconds; times to the first token are those of the last minute, or there would rarely be any
APART = 4.0  # seconds that rates are measured over at least, where there are looks so long ago


@dataclass(frozen=True)
class Point:
    """A copy's figures at one look, `at` by a monotonic clock."""

    at: float
    part: Part


@dataclass
class Recent:
    """The looks of the last minute at one copy, oldest first. A restart of the copy begins them anew."""

    points: list[Point] = field(default_factory=list)
    resets: int = 0

    def add(self, point: Point, resets: int) -> None:
        """Remember one look, and how often the copy had begun anew by then."""
        if self.points and point.at <= self.points[-1].at:
            return
        if resets != self.resets:
            self.points, self.resets = [], resets
        self.points = [*(one for one in self.points if point.at - one.at <= KEEP), point]

    def told(self, now: float, hold: float) -> dict[str, Any]:
        """What the copy does now; nothing is known where its last look is older than `hold` seconds."""
        if not self.points or now - self.points[-1].at > hold:
            return figures({}, {}, 0.0)
        last, former = self.points[-1], self._former()
        found = figures(former.part.figures, last.part.figures, last.at - former.at)
        long = figures(self.points[0].part.figures, last.part.figures, last.at - self.points[0].at)
        return {**found, **{name: long[name] for name in TIMES}}

    def _former(self) -> Point:
        last = self.points[-1]
        return next((one for one in reversed(self.points) if last.at - one.at >= APART), self.points[0])


def of_model(model: str, copies: Iterable[Recent], now: float, hold: float) -> dict[str, Any]:
    """Given a model and what is known of its copies, return what they come to now; what none of them tells is null."""
    fresh = [one for one in copies if one.points and now - one.points[-1].at <= hold]
    first = _together(model, [one.points[0] for one in fresh])
    found = figures(first, _together(model, [one.points[-1] for one in fresh]), 1.0)
    told = [one.told(now, hold) for one in fresh]
    return {**found, **{name: _sum([one[name] for one in told]) for name in RATES}}


def _together(model: str, points: Sequence[Point]) -> Figures:
    return of_models([one.part for one in points]).get(model, {})


def _sum(rates: Sequence[float | None]) -> float | None:
    known = [rate for rate in rates if rate is not None]
    return round(sum(known), 3) if known else None


SHOWN: Sequence[str] = (*NOW, *RATES, *TIMES)


def short(told: Mapping[str, Any]) -> dict[str, Any]:
    """Given figures, return those that a view shows."""
    return {name: told.get(name) for name in SHOWN}
