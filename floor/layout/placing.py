"""From boxes to a backend: what can share layers, where the layers are cut, or why it does not fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from floor.layout.backend import LEAST, TENSOR, WANTED, WHOLE, Backend, Misfit
from floor.layout.cards import Card
from floor.layout.figures import measure
from floor.layout.fleet import Measured, Place, Want
from floor.layout.ledger import Books, Ledger
from floor.layout.memory import overhead, room
from floor.layout.sharing import obstacle
from floor.layout.speed import Stage
from floor.layout.stretches import Cost, cut
from floor.sizes import gib

EMPTY = Misfit("a card would only slow the others: it is better left out")


def build(books: Books, places: Sequence[Place], how: str, size: str = WHOLE) -> Backend | Misfit:
    """Given a model's books, the boxes that a backend is to stand on, the head first, how it is cut and how large its
    cache is to be, return it, or why it does not fit.
    """
    if len(places) == 1:
        return _one(books, places, how, size, every=False)
    # every box of a group has as many ranks as the others: where a card would stay empty, each box has one less
    empty = 0
    for many in range(min(len(place.cards) for place in places), 0, -1):
        found = _one(books, _with(places, many), how, size, every=False)
        if isinstance(found, Backend) or how == TENSOR:
            return found
        if found is not EMPTY:
            break  # fewer cards do not fit either
        empty = many
    if empty > 1:
        return _one(books, _with(places, empty), how, size, every=True)
    return found


def _with(places: Sequence[Place], many: int) -> list[Place]:
    """Boxes with so many of their cards, the largest."""
    return [replace(place, cards=_largest(place, many)) for place in places]


def _one(books: Books, places: Sequence[Place], how: str, size: str, *, every: bool) -> Backend | Misfit:
    """A backend on all cards of these boxes. `every`: none of them may stay empty."""
    cards = [(place, card) for place in places for card in place.cards]
    if how == TENSOR:
        why = obstacle(books.want, cards)
        return Misfit(why) if why else _cut(books, [cards], len(places), (how, size), every=every)
    stages = [[(place, card) for card in place.cards] for place in places]  # a stage a box
    if len(cards) > len(places) > 1 and not any(obstacle(books.want, stage) for stage in stages):
        found = _cut(books, stages, len(places), (how, size), every=every)
        if not isinstance(found, Misfit):
            return found
    return _cut(books, [[one] for one in cards], len(places), (how, size), every=every)


def _largest(place: Place, many: int) -> tuple[Card, ...]:
    return tuple(sorted(place.cards, key=place.usable, reverse=True)[:many])


def _cut(
    books: Books,
    stages: Sequence[Sequence[tuple[Place, Card]]],
    boxes: int,
    kind: tuple[str, str],
    *,
    every: bool,
) -> Backend | Misfit:
    want, tp = books.want, len(stages[0])
    ledger = books.ledger(tp)
    names = tuple(dict.fromkeys(place.name for stage in stages for place, _ in stage))
    known = want.measured.get(f"{want.name}@{'+'.join(names)}", Measured()).of(tp, len(stages))
    beside = overhead(want, tp * len(stages), known.overhead)
    rooms = [min(room(place, card, 0.0, beside) for place, card in stage) for stage in stages]
    found = None
    # llama.cpp and Ollama take the memory of every slot at their start
    for requests in dict.fromkeys((want.at_once, 1) if want.engine == "vllm" else (want.cap,)):
        blocks = max(1, ledger.needed(requests, want.context))
        if ledger.need(blocks)(0, ledger.layers) > sum(max(0.0, left) for left in rooms):
            continue
        costs = [
            _time(books, ledger, tuple(card for _, card in stage), left, blocks, (boxes, len(stages)))
            for stage, left in zip(stages, rooms, strict=True)
        ]
        if found := cut(ledger.layers, costs, every=every):
            break
    if found is None:
        return _short(want, ledger, rooms)
    if boxes > 1 and 0 in found[0]:
        return EMPTY
    edges = [sum(found[0][:n]) for n in range(len(stages) + 1)]
    kept = [
        (stage, left, Stage(tuple(card for _, card in stage), edges[n], edges[n + 1], boxes > 1 and len(stages) == 1))
        for n, (stage, left) in enumerate(zip(stages, rooms, strict=True))
        if edges[n + 1] > edges[n]
    ]
    how, size = kind
    wanted = {WHOLE: math.inf, LEAST: want.at_once, WANTED: max(want.cap, want.at_once)}[size]
    most = math.inf if size == WHOLE else max(1, ledger.needed(wanted, want.context))
    return measure(ledger, kept, (beside, most), how, books.constants, known)


def _time(
    books: Books, ledger: Ledger, cards: tuple[Card, ...], left: float, blocks: int, spread: tuple[int, int]
) -> Cost:
    """What a stretch costs on these cards: seconds of a step at the cap, where weights and so many blocks fit."""
    boxes, stages = spread
    requests = max(1.0, books.want.cap / stages)
    sums = ledger.seconds(cards, boxes > 1 and stages == 1, requests, books.want.depth, books.constants)

    need = ledger.need(blocks)

    def cost(start: int, end: int) -> float:
        return sums[end] - sums[start] if need(start, end) <= left else math.inf

    return cost


def _short(want: Want, ledger: Ledger, rooms: Sequence[float]) -> Misfit:
    many = 1 if want.engine == "vllm" else want.cap
    blocks = max(1, ledger.needed(many, want.context))
    missing = ledger.need(blocks)(0, ledger.layers) - sum(max(0.0, left) for left in rooms)
    if missing <= 0:
        return Misfit("no cut of its layers fits these cards, though their memory would do in all")
    asked = "one request" if many == 1 else f"{many} requests"
    return Misfit(f"{gib(missing)} are missing for weights and {asked} of {want.context:,} tokens", missing)
