"""How many requests at once a copy should take: the fewest that give what it can give. Pure.

Throughput over requests at once rises, and then stays or falls. What was measured is first made to do so: the best
unimodal curve through it (pool adjacent violators, Ayer et al. 1955, on both sides of each possible peak), which takes
noise off. The answer is the smallest level within `NEAR` of its highest, or within what the noise leaves in doubt. How
sure it is comes from doing the same over again with the measured spread laid anew over that curve.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from .level import Level

NEAR = 0.03  # more requests at once for less than this are not worth what each of them then waits
FLAT = 0.10  # curves that rise by less than this have no knee
ALLOWED = 2.5  # errors by which an earlier peak may lie further off than the best one: chance alone does as much
AGAIN = 100  # times that the noise is laid anew
WIDEST = 4.0  # errors that the best and the worst of a dozen levels that are alike lie apart
SICK = 0.02  # a level where more of the requests failed is no choice

Draw = Callable[[int], int]
"""Given n, a number from 0 to n - 1, each as likely."""


class Shape(StrEnum):
    """What the curve does."""

    KNEE = "knee"
    """It rises, and stays or falls from some level on."""
    RISING = "rising"
    """It still rises at the last level: more may be better."""
    FLAT = "no knee"
    """It gives as much with few requests at once as with many."""


@dataclass(frozen=True)
class Advice:
    """`at`: the level to choose; None where none can be. `sure`: the share of repetitions that chose it, or one whose
    throughput is as good (0 to 1). `why` in words."""

    at: float | None
    shape: Shape | None
    sure: float
    why: str


def advise(levels: Sequence[Level], draw: Draw, first_token: float | None = None) -> Advice:
    """Given what was measured at each level, a source of chance, and how long nine in ten may wait for a first token at
    most (seconds), return the advice."""
    usable, left_out = _usable(levels, first_token)
    if not usable:
        return Advice(None, None, 0.0, left_out or "nothing was measured")
    at = [level.at for level in usable]
    rates = [level.rate for level in usable]
    doubt = _doubt(usable)
    curve = unimodal(rates, doubt)
    near = max(NEAR, doubt)
    shape = _shape(curve, near, doubt)
    if shape is Shape.FLAT:
        return _flat(rates, doubt, left_out)
    chosen = pick(curve, near)
    sure = _sure(curve, chosen, near, doubt, _residuals(usable), len(usable[0].rates), draw)
    return Advice(at[chosen], shape, sure, _with(_why(at, curve, chosen, shape, near), left_out))


def pick(curve: Sequence[float], near: float = NEAR) -> int:
    """Given a unimodal curve, return the place of the smallest level within `near` (a share) of its highest."""
    enough = max(curve) * (1 - near)
    return next(place for place, rate in enumerate(curve) if rate >= enough)


def unimodal(rates: Sequence[float], doubt: float = 0.0) -> list[float]:
    """Given rates above 0, return ones that rise to some place and then fall or stay: the earliest such place for which
    they lie, in all, about as close as any (least squares of logarithms; `doubt` is the error of each, as a share).

    Without the allowance for doubt the highest of a long row that is all alike would be taken for a peak.
    """
    logs = [math.log(rate) for rate in rates]
    fits = [
        [*_rising(logs[:peak]), *[-log for log in _rising([-log for log in logs[peak:]])]]
        for peak in range(1, len(logs) + 1)
    ]
    errors = [math.fsum((one - other) ** 2 for one, other in zip(fit, logs, strict=True)) for fit in fits]
    enough = min(errors) + (ALLOWED * doubt) ** 2 + 1e-12
    return [math.exp(log) for log in next(fit for fit, error in zip(fits, errors, strict=True) if error <= enough)]


def _rising(rates: Sequence[float]) -> list[float]:
    """The closest that never fall: neighbours that do are replaced by their mean."""
    blocks: list[tuple[float, int]] = []
    for rate in rates:
        total, count = rate, 1
        while blocks and blocks[-1][0] / blocks[-1][1] > total / count:
            before, some = blocks.pop()
            total, count = total + before, count + some
        blocks.append((total, count))
    return [total / count for total, count in blocks for _ in range(count)]


def _usable(levels: Sequence[Level], first_token: float | None) -> tuple[list[Level], str]:
    """The levels that may be chosen, fewest at once first, and why others are left out."""
    ordered = sorted(levels, key=lambda level: level.at)
    sick = [level for level in ordered if level.failing > SICK]
    healthy = [level for level in ordered if level not in sick and level.rates and level.rate > 0]
    late = [level for level in healthy if first_token is not None and level.first.get("p90", 0.0) > first_token]
    reasons = []
    if sick:
        reasons.append(f"requests failed from {sick[0].at:g} at once on: {sick[0].error}")
    if late:
        reasons.append(f"a tenth waits longer than {first_token:g} s for a first token from {late[0].at:g} at once on")
    return [level for level in healthy if level not in late], "; ".join(reasons)


def _doubt(levels: Sequence[Level]) -> float:
    """How far the rate of a level may lie from the truth, as a share: the standard error of the mean of its slices.
    Judged by how far slices lie from the mean of their own level, which lies as near to them as any number does."""
    found = _residuals(levels)
    slices = len(levels[0].rates)
    return statistics.pstdev(found) / math.sqrt(slices - 1) if len(found) > 1 else 0.0


def _residuals(levels: Sequence[Level]) -> list[float]:
    return [rate / level.rate - 1 for level in levels for rate in level.rates if len(level.rates) > 1]


def _flat(rates: Sequence[float], doubt: float, left_out: str) -> Advice:
    """Nothing rises by more than could be seen: the less can be seen, the less sure that is."""
    why = f"{min(rates):.0f} to {max(rates):.0f} tok/s whatever runs at once"
    hidden = WIDEST * doubt
    if hidden > FLAT:
        why += f"; it was so unsteady that a rise of {hidden:.0%} would not be seen"
    return Advice(None, Shape.FLAT, min(1.0, FLAT / hidden) if hidden else 1.0, _with(why, left_out))


def _shape(curve: Sequence[float], near: float, doubt: float) -> Shape:
    highest, place = max(curve), pick(curve, near)
    if highest <= min(curve) * (1 + max(FLAT, WIDEST * doubt)):
        return Shape.FLAT
    return Shape.RISING if place == len(curve) - 1 else Shape.KNEE


def _sure(
    curve: Sequence[float], chosen: int, near: float, doubt: float, residuals: Sequence[float], slices: int, draw: Draw
) -> float:
    """The share of repetitions with noise laid anew over the curve that choose the same level, or one whose rate lies
    within twice `near` of its."""
    if not residuals:
        return 1.0
    agreeing = 0
    for _ in range(AGAIN):
        again = [
            rate * (1 + statistics.fmean(residuals[draw(len(residuals))] for _ in range(slices))) for rate in curve
        ]
        other = pick(unimodal(again, doubt), near)
        agreeing += abs(other - chosen) <= 1 and abs(curve[other] / curve[chosen] - 1) <= 2 * near
    return agreeing / AGAIN


def _why(at: Sequence[float], curve: Sequence[float], chosen: int, shape: Shape, near: float) -> str:
    found = f"{curve[chosen]:.0f} tok/s with {at[chosen]:g} at once"
    if chosen:
        gain = curve[chosen] / curve[chosen - 1] - 1
        found += f", {gain:.0%} more than with {at[chosen - 1]:g}"
    if shape is Shape.RISING:
        return f"{found}; it still rises there, so try more"
    change = curve[-1] / curve[chosen] - 1
    if abs(change) <= near:
        return f"{found}; more at once gives no more"
    if change > 0:
        return f"{found}; {at[-1]:g} at once would give {change:.0%} more"
    return f"{found}; {at[-1]:g} at once gives {-change:.0%} less"


def _with(text: str, reason: str) -> str:
    return f"{text} ({reason})" if reason else text
