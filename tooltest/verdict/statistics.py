"""The two tests of the gate, in the standard library's numbers."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import comb, sqrt
from statistics import fmean, stdev

Z_POWER = 0.8416  # of the normal distribution, at 80 %
Z_BOTH_SIDES = 1.96  # at 95 %


def fisher(fewer: tuple[int, int], more: tuple[int, int]) -> float:
    """Fisher's exact test, one-sided: how likely `fewer`, (successes, trials), has so few if both were alike."""
    (a, n), (b, m) = fewer, more
    total = comb(n + m, a + b)
    return sum(comb(n, x) * comb(m, a + b - x) for x in range(max(0, a + b - m), a + 1)) / total


def interval(strata: Mapping[str, Sequence[float]], of: random.Random, resamples: int = 2000) -> tuple[float, float]:
    """Bootstrap 95 % interval of a mean over all values, which are drawn again within their strata.

    Small strata make a bootstrap too narrow by (n - 1) / n of the variance: the draws are stretched by its root.
    """
    values = [list(one) for one in strata.values() if one]
    count = sum(map(len, values))
    if not count:
        return 0.0, 0.0
    means = [fmean(one) for one in values]
    centre = sum(map(sum, values)) / count
    stretch = [sqrt(len(one) / (len(one) - 1)) if len(one) > 1 else 1.0 for one in values]
    draws = []
    for _ in range(resamples):
        total = 0.0
        for one, mean, wide in zip(values, means, stretch, strict=True):
            drawn = sum(of.choices(one, k=len(one)))
            total += mean * len(one) + (drawn - mean * len(one)) * wide
        draws.append(total / count)
    draws.sort()
    low, high = draws[int(0.025 * resamples)], draws[min(resamples - 1, int(0.975 * resamples))]
    return min(low, centre), max(high, centre)


def standard_error(strata: Mapping[str, Sequence[float]]) -> float:
    """Standard error of that mean."""
    count = sum(len(one) for one in strata.values())
    return sqrt(sum(len(one) * stdev(one) ** 2 for one in strata.values() if len(one) > 1)) / count if count else 0.0


def grouped(values: Mapping[str, float]) -> dict[str, list[float]]:
    """Values of scenarios (KIND/NAME) by kind."""
    found: dict[str, list[float]] = defaultdict(list)
    for scenario, value in values.items():
        found[scenario.partition("/")[0]].append(value)
    return dict(found)
