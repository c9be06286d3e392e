"""A share of a card's memory, and what lies in it. Pure: the one place for this arithmetic."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from floor.engines.log import Start
from floor.sizes import GIB


def rounded(part: float) -> float:
    """Given a part of a whole, return it as a share of two places, rounded down."""
    return math.floor(part * 100 + 1e-9) / 100


def whole(gpus: Sequence[Mapping[str, Any]], memory: Mapping[str, Any]) -> int | None:
    """Given the cards of a box and its memory as it tells them, return the bytes that a share is of: those of the
    smallest card; of the box where it has none, or a driver tells none (shared memory). None where nothing is known."""
    own = [int(card.get("total") or 0) for card in gpus]
    return min(own) if own and all(own) else memory.get("total") or None


def cache(start: Start) -> float | None:
    """Given what a start has logged, return the bytes that it found for its cache on each card; None where it did not
    tell, or found none."""
    return start.available * GIB if start.available is not None and start.available > 0 else None


def held(start: Start, share: float, total: float) -> float | None:
    """Given what a start has logged, the share that it was started with and the bytes of the card, return what it holds
    beside its cache: weights, activations, runtime, graphs. None where its log does not tell."""
    found = cache(start)
    return None if found is None else share * total - found
