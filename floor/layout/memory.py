"""Memory of each card by part, and the cache that is left.

cache = what the engine gets - weights - activations - runtime - graphs. Activations, runtime and graphs are constants
until the box has told its own at a start: they are the weak half of it, and marked assumed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from floor.layout.cards import Card
from floor.layout.fleet import ASSUMED, MEASURED, Place, Want
from floor.sizes import GIB


@dataclass(frozen=True)
class Overhead:
    """Bytes on each card beside weights and cache. `origin`: assumed, or measured at the last start of this build."""

    activations: float
    runtime: float
    graphs: float
    origin: str = ASSUMED

    @property
    def total(self) -> float:
        """Bytes of all of it."""
        return self.activations + self.runtime + self.graphs


@dataclass(frozen=True)
class Use:
    """A card's memory by part. `left`: bytes that nobody is given; `share`: of the memory that the engine is given."""

    box: str
    card: Card
    weights: float
    overhead: Overhead
    cache: float
    others: float
    left: float
    share: float


def overhead(want: Want, tp: int, known: Mapping[str, float] | None = None) -> Overhead:
    """Given a model, how many cards share a layer, and what this box logged at its last start of the build (bytes by
    part, where it did), return what its engine takes beside weights and cache.

    Constants from vLLM's start logs: 2.0 GiB of activations for dense models and 2.5 for mixtures at 8192 tokens
    a step, 0.27 GiB that torch does not see, 2.1 with several cards, 0.5 to 1.9 GiB of graphs.
    """
    if want.engine != "vllm":
        found = Overhead(0.8 * GIB, 0.4 * GIB, 0.0)
    elif not want.shape.causal:
        found = Overhead(0.5 * GIB, 0.27 * GIB, 0.0)
    else:
        activations = (2.5 if want.mixture else 2.0) * want.in_flight / 8192
        found = Overhead(activations * GIB, (2.1 if tp > 1 else 0.27) * GIB, 1.0 * GIB)
    if not known:
        return found
    parts = {name: known.get(name, getattr(found, name)) for name in ("activations", "runtime", "graphs")}
    return Overhead(**parts, origin=MEASURED if len(known) >= len(parts) else ASSUMED)


def room(place: Place, card: Card, weights: float, beside: Overhead) -> float:
    """Given a card, the bytes of weights on it and what comes beside, return the room for the cache."""
    return place.usable(card) - weights - beside.total


def use(place: Place, card: Card, weights: float, beside: Overhead, cache: float) -> Use:
    """Given a card and what lies on it, return its memory by part; the share is rounded up to two places."""
    taken = weights + beside.total + cache
    share = min(place.share(card), math.ceil(taken / card.memory * 100) / 100)
    others = place.others + card.others + card.taken
    return Use(place.name, card, weights, beside, cache, others, card.memory - others - taken, share)
