"""From boxes to a backend: what can share layers, where the layers are cut, or why it does not fit."""

from __future__ import annotations

import math
from collections.abc import Sequence

from floor.layout.backend import LEAST, TENSOR, WANTED, WHOLE, Backend, Misfit
from floor.layout.cards import GIB, Card
from floor.layout.figures import measure
from floor.layout.fleet import Measured, Place, Want
from floor.layout.ledger import Books, Ledger
from floor.layout.memory import overhead, room
from floor.layout.sharing import obstacle
from floor.layout.speed import Stage
from floor.layout.stretches import Cost, cut


def build(books: Books, places: Sequence[Place], how: str, size: str = WHOLE) -> Backend | Misfit:
    """Given a model's books, the boxes that a backend is to stand on, the head first, how it is cut and how large its
    cache is to be, return it, or why it does not fit.
    """
    if how == TENSOR:
        cards = [(place, card) for place in places for card in place.cards]
        if why := obstacle(books.want, cards):
            return Misfit(why)
        return _cut(books, [cards], len(places), (how, size))
    counts = {len(place.cards) for place in places}
    if len(places) > 1 and len(counts) == 1:  # a stage a box; its cards share the layers
        stages = [[(place, card) for card in place.cards] for place in places]
        if not any(obstacle(books.want, stage) for stage in stages):
            return _cut(books, stages, len(places), (how, size))
    return _cut(books, [[(place, card)] for place in places for card in place.cards], len(places), (how, size))


def _cut(
    books: Books, stages: Sequence[Sequence[tuple[Place, Card]]], boxes: int, kind: tuple[str, str]
) -> Backend | Misfit:
    want, tp = books.want, len(stages[0])
    ledger = books.ledger(tp)
    names = tuple(dict.fromkeys(place.name for stage in stages for place, _ in stage))
    known = want.measured.get(f"{want.name}@{'+'.join(names)}", Measured())
    beside = overhead(want, tp * len(stages), known.overhead)
    rooms = [min(room(place, card, 0.0, beside) for place, card in stage) for stage in stages]
    found = None
    # llama.cpp and Ollama take the memory of every slot at their start
    for requests in dict.fromkeys((want.at_once, 1) if want.engine == "vllm" else (want.cap,)):
        blocks = max(1, ledger.needed(requests, want.context))
        costs = [
            _time(books, ledger, tuple(card for _, card in stage), left, blocks, (boxes, len(stages)))
            for stage, left in zip(stages, rooms, strict=True)
        ]
        if found := cut(ledger.layers, costs):
            break
    if found is None:
        return _short(want, ledger, rooms)
    edges = [sum(found[0][:n]) for n in range(len(stages) + 1)]
    kept = [
        (stage, left, Stage(tuple(card for _, card in stage), edges[n], edges[n + 1], boxes > 1 and len(stages) == 1))
        for n, (stage, left) in enumerate(zip(stages, rooms, strict=True))
        if edges[n + 1] > edges[n]
    ]
    if len({place.name for stage, _, _ in kept for place, _ in stage}) < boxes:
        return Misfit("one of the boxes would only slow the others: it is better left out")
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

    def cost(start: int, end: int) -> float:
        taken = ledger.weights(start, end) + blocks * ledger.per_block(start, end)
        return sums[end] - sums[start] if taken <= left else math.inf

    return cost


def _short(want: Want, ledger: Ledger, rooms: Sequence[float]) -> Misfit:
    blocks = max(1, ledger.needed(1, want.context))
    whole = ledger.weights(0, ledger.layers) + blocks * ledger.per_block(0, ledger.layers)
    missing = whole - sum(max(0.0, left) for left in rooms)
    if missing <= 0:
        return Misfit("no cut of its layers fits these cards, though their memory would do in all")
    return Misfit(
        f"{missing / GIB:.1f} GiB are missing for weights and one request of {want.context:,} tokens", missing
    )
