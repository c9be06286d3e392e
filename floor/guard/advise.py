"""Which share of a box its engines should take, from what else has run there. Pure.

utilization = floor2(min(demand, total - others - keep_free) / total), where others is what 95 of 100 readings stayed
below, and what the largest of them leaves is never less than the floor. What an engine holds itself counts as available
to it. Shares of engines of one box add up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from floor.engines.share import rounded
from floor.sizes import gib

from .history import Others

HIGHEST = 0.90  # above it start-up takes more than the share for a while, and a box freezes
SMALLEST = 0.01


@dataclass(frozen=True)
class Wish:
    """One engine of a box. Bytes: `held` beside its cache at its last start (weights, activations, graphs: its share of
    then less the cache that it found), `cache` that its requests want; None where no start has told yet."""

    backend: str
    utilization: float | None
    held: int | None = None
    cache: int | None = None

    @property
    def demand(self) -> int | None:
        """What it wants in all; None: as much as there is."""
        return None if self.held is None or self.cache is None else self.held + self.cache


@dataclass(frozen=True)
class Room:
    """A box: its memory, what must stay free beyond all else, the guard's floor, and what others take. Bytes."""

    total: int
    keep_free: int
    floor: int
    others: Others


@dataclass(frozen=True)
class Advice:
    """What one engine should be given: a share, the explicit size of its cache in bytes (None: not known), and why.

    `fits` is false where there is not even room for what it holds beside its cache.
    """

    backend: str
    utilization: float
    cache: int | None
    fits: bool
    text: str


def advise(room: Room, wishes: Sequence[Wish]) -> list[Advice]:
    """Given a box and the engines on it, return what each should be given, in the same order."""
    # At what is usual, keep_free stays; even at the worst that was seen, the floor does.
    usual = room.total - room.others.p95 - room.keep_free
    worst = room.total - room.others.most - room.floor
    left = max(0, min(usual, worst))
    given = _divide(min(left, int(room.total * HIGHEST)), room.total, wishes)
    return [_advice(room, wish, size, usual > worst) for wish, size in zip(wishes, given, strict=True)]


def leaves(room: Room, utilization: float) -> int:
    """Given a box and the sum of its engines' shares, return the bytes that stay free at what is usual there."""
    return room.total - room.others.p95 - int(room.total * utilization)


def _divide(left: int, total: int, wishes: Sequence[Wish]) -> list[int]:
    """Give each engine what it demands; those that want all there is, or more than there is, share the rest in the
    proportion of their shares so far."""
    given = [0] * len(wishes)
    wants = [None if wish.demand is None else _up(wish.demand, total) for wish in wishes]
    open_ = list(range(len(wishes)))
    while open_:
        weight = sum(_weight(wishes[index]) for index in open_)
        parts = {index: left * _weight(wishes[index]) / weight for index in open_}
        content = {index: want for index in open_ if (want := wants[index]) is not None and want <= parts[index]}
        if not content:
            return [int(parts.get(index, size)) for index, size in enumerate(given)]
        for index, want in content.items():
            given[index], left = want, left - want
            open_.remove(index)
    return given


def _up(demand: int, total: int) -> int:
    """What is demanded, rounded up to what a share of two places can say; what there is is rounded down."""
    return math.ceil(math.ceil(demand / total * 100) * total / 100)


def _weight(wish: Wish) -> float:
    return wish.utilization or 0.5


def _advice(room: Room, wish: Wish, size: int, by_worst: bool) -> Advice:
    share = max(SMALLEST, rounded(size / room.total))
    cache = None if wish.held is None else max(0, int(share * room.total) - wish.held)
    fits = wish.held is None or int(share * room.total) > wish.held
    others = f"{gib(room.others.most)} at most" if by_worst else gib(room.others.p95)
    stays = f"the floor of {gib(room.floor)}" if by_worst else f"{gib(room.keep_free)} kept free"
    text = f"{gib(room.total)} less {others} of others and {stays}"
    if wish.demand is not None and wish.demand <= size:
        text = f"it wants {gib(wish.demand)}: {gib(wish.held or 0)} and a cache of {gib(wish.cache or 0)}"
    if not fits:
        text += f"; it holds {gib(wish.held or 0)} beside its cache, so it does not fit"
    return Advice(wish.backend, share, cache, fits, text)
