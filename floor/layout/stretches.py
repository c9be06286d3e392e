"""Which layers lie on which card: contiguous stretches, cut so that the worst of them is as good as can be.

Exact, and quick because what a stretch costs only grows with it: the best end of the stretches before is then where
their cost and that of the last one cross. A card may get no layer: fewer stretches are better than one that slows all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

Cost = Callable[[int, int], float]
"""Given start and end of a stretch, what it costs; math.inf where it does not fit. Must not fall as a stretch grows."""


def cut(layers: int, costs: Sequence[Cost], *, every: bool = False) -> tuple[tuple[int, ...], float] | None:
    """Given how many layers there are and what a stretch costs on each card in turn, return the layers of each card and
    the cost of the dearest stretch: the least that any cut has. None where no cut fits.

    With `every` each card gets a layer at least; that takes as many tries as there are pairs of layers.
    """
    if not costs:
        return None
    best = [_of(costs[0], 0, end, every) for end in range(layers + 1)]
    froms: list[list[int]] = []
    for cost in costs[1:]:
        find = _each if every else _cheapest
        pairs = [find(best, cost, end) for end in range(layers + 1)]
        best = [pair[0] for pair in pairs]
        chosen = [pair[1] for pair in pairs]
        froms.append(chosen)
    if math.isinf(best[layers]):
        return None
    sizes: list[int] = []
    end = layers
    for chosen in reversed(froms):
        sizes.append(end - chosen[end])
        end = chosen[end]
    return (end, *reversed(sizes)), best[layers]


def _of(cost: Cost, start: int, end: int, every: bool = False) -> float:
    if end > start:
        return cost(start, end)
    return math.inf if every else 0.0


def _each(before: Sequence[float], cost: Cost, end: int) -> tuple[float, int]:
    """As `_cheapest`, where no stretch may be empty: a longer one before can cost less then, so all are looked at, the
    shortest last stretch first, until the last one alone costs more than the best."""
    best, chosen = math.inf, 0
    for start in range(end - 1, -1, -1):
        last = cost(start, end)
        if last >= best or math.isinf(last):
            break
        if max(before[start], last) < best:
            best, chosen = max(before[start], last), start
    return best, chosen


def _cheapest(before: Sequence[float], cost: Cost, end: int) -> tuple[float, int]:
    """Where the stretch that ends at `end` had best begin: at or next to where both costs cross."""
    low, high = 0, end
    while low < high:
        middle = (low + high) // 2
        if before[middle] >= _of(cost, middle, end):
            high = middle
        else:
            low = middle + 1
    return min((max(before[start], _of(cost, start, end)), start) for start in (max(0, low - 1), low))
