"""Sums over the layers of a model, so that what a stretch takes is one subtraction: cuts are tried by the thousand."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate

from floor.layout.cache import ALIGN_HOLDS, table
from floor.layout.cards import Card
from floor.layout.fleet import Want
from floor.layout.speed import Constants, Stage, step


class Ledger:
    """A model whose layers are shared by `tp` cards each: weights, cache and time of any stretch of it."""

    def __init__(self, want: Want, tp: int) -> None:
        self.want = want
        self.tp = tp
        self.load = want.load(tp)
        self.layers = len(want.shape.layers)
        drafting = want.shape.drafts if want.drafts else ()
        self.table = table([*want.shape.layers, *drafting], self.load.setting)
        parts = [dense + experts for dense, experts in zip(want.weights.dense, want.weights.experts, strict=True)]
        self._weights = list(accumulate(parts, initial=0.0))
        self._page = self.table.groups[0].page if self.table.groups else 0.0  # one size for all groups
        self._held = [_counts(group.places, self.table.layers) for group in self.table.groups]
        self._kinds = list(zip(want.shape.layers, want.weights.dense, want.weights.experts, strict=True))
        self._times: dict[tuple[tuple[Card, ...], bool, float, float], list[float]] = {}

    def weights(self, start: int, end: int) -> float:
        """Given a stretch, return the bytes of its weights on each of its cards."""
        return self.need(0)(start, end)

    def per_block(self, start: int, end: int) -> float:
        """Given a stretch, return the bytes that one block of the cache takes on each of its cards."""
        return self._page * self._most(start, end)

    def need(self, blocks: int) -> Callable[[int, int], float]:
        """Given the blocks of a cache, return what tells the bytes of a stretch on each card, cache included."""
        want, layers, tp, page = self.want, self.layers, self.tp, self._page * blocks
        sums, most = self._weights, self._most
        first = want.weights.table + want.weights.beside
        last = (want.weights.head, want.weights.head or want.weights.table)
        drafts = want.weights.drafts if want.drafts else 0.0

        def need(start: int, end: int) -> float:
            found = sums[end] - sums[start]
            if start == 0:
                found += first
            if end == layers:
                found += last[start > 0] + drafts
            return found / tp + (page * most(start, end) if page else 0.0)

        return need

    def _most(self, start: int, end: int) -> int:
        """The most layers of one group in a stretch. Drafts lie with the last layers."""
        stop = self.table.layers if end == self.layers else end
        if len(self._held) == 1:
            return self._held[0][stop] - self._held[0][start]
        return max([sums[stop] - sums[start] for sums in self._held], default=0)

    def seconds(
        self, cards: tuple[Card, ...], across: bool, requests: float, depth: float, constants: Constants
    ) -> list[float]:
        """Given the cards of a stage and its load, return the seconds of a step of the first n layers, for every n."""
        key = (cards, across, requests, depth)
        if key not in self._times:
            each, known = [], {}
            for layer in range(self.layers):
                # layers that are alike take as long; the last one has the head as well
                alike = (*self._kinds[layer], layer == self.layers - 1)
                if alike not in known:
                    known[alike] = step(self.load, Stage(cards, layer, layer + 1, across), requests, depth, constants)
                each.append(known[alike])
            self._times[key] = list(accumulate(each, initial=0.0))
        return self._times[key]

    def needed(self, requests: float, length: int) -> int:
        """Given how many requests of how many tokens are to fit at once, return the blocks that they take."""
        return math.ceil(requests * self.table.per_request(length) / self.holds)

    def running(self, length: int) -> int:
        """Given the tokens of a request, return the blocks that it needs to run, nothing kept for later requests."""
        bare = replace(self.load.setting, align=False)
        return max(1, sum(group.blocks(max(1, length), bare) for group in self.table.groups))

    @property
    def holds(self) -> float:
        """The part of the cache that can be planned with."""
        lost = self.table.stateful and self.load.setting.align and not self.want.small_states
        return ALIGN_HOLDS if lost else 1.0


def _counts(places: Sequence[int], many: int) -> list[int]:
    """How many of the places lie before each layer."""
    inside = set(places)
    return list(accumulate((place in inside for place in range(many)), initial=0))


class Books:
    """The ledgers of one model, by how many cards share a layer, and the constants that speeds go by."""

    def __init__(self, want: Want, constants: Constants) -> None:
        self.want = want
        self.constants = constants
        self._ledgers: dict[int, Ledger] = {}

    def ledger(self, tp: int) -> Ledger:
        """Given how many cards share a layer, return that ledger."""
        if tp not in self._ledgers:
            self._ledgers[tp] = Ledger(self.want, tp)
        return self._ledgers[tp]
