"""A backend as a person has cut it: what its cache holds, and whether one of its stretches sets the pace."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from floor.layout.backend import PIPELINE, TENSOR, Backend
from floor.layout.figures import measure
from floor.layout.fleet import Measured, Place
from floor.layout.ledger import Books
from floor.layout.memory import overhead, room
from floor.layout.placing import build
from floor.layout.speed import Stage, step
from floor.sizes import told_size

UNEVEN = 1.3  # times the mean of the stretches: beyond that one card is worth a better one, or less of the model


def stated(books: Books, places: Sequence[Place], tp: int, layers: Sequence[int]) -> Backend | None:
    """Given a model's books, the boxes of a backend, the head first, how many cards share a layer, and the layers of
    each stage, return that backend; None where the boxes have other cards than that takes, or the model other layers.

    vLLM counts cards box by box, and gives each stage the next `tp` of them.
    """
    ledger, many = books.ledger(tp), tp * len(layers)
    if many % len(places) or sum(layers) != ledger.layers or min(layers) < 1:
        return None
    if any(len(place.cards) < many // len(places) for place in places):
        return None
    cards = [(place, card) for place in places for card in place.cards[: many // len(places)]]
    name = f"{books.want.name}@{'+'.join(place.name for place in places)}"
    known = books.want.measured.get(name, Measured()).of(tp, len(layers))
    beside = overhead(books.want, many, known.overhead)
    kept = []
    for number, size in enumerate(layers):
        start, here = sum(layers[:number]), cards[number * tp : (number + 1) * tp]
        left = min(room(place, card, 0.0, beside) for place, card in here)
        across = len({place.name for place, _ in here}) > 1
        kept.append((here, left, Stage(tuple(card for _, card in here), start, start + size, across)))
    how = TENSOR if len(layers) == 1 else PIPELINE
    return measure(ledger, kept, (beside, math.inf), how, books.constants, known)


def warnings(books: Books, places: Sequence[Place], tp: int, layers: Sequence[int]) -> Iterator[str]:
    """Given the same, yield what is wrong with that backend, in words that begin with its name."""
    want = books.want
    found = stated(books, places, tp, layers)
    if found is None:
        return
    if found.longest < want.context:
        holds = f"its cache has room for {found.longest:,}" if found.longest > 0 else "its weights alone do not fit"
        more = f"{told_size(_missing(books, places, found))} more would do"
        yield f"{found.name}: no request of {want.context:,} tokens could be held: {holds}; {more}"
    if found.uneven > UNEVEN:
        slow = max(range(len(layers)), key=lambda n: _pace(books, found, n))
        box = found.uses[slow * tp].box
        better = build(books, places, PIPELINE)
        even = isinstance(better, Backend) and len(better.layers) == len(layers) and better.uneven < found.uneven
        advice = f"; {list(better.layers)} would do better" if isinstance(better, Backend) and even else ""
        takes = f"its stretch of {layers[slow]} layers on {box} takes {found.uneven:.1f} times the mean"
        yield f"{found.name}: {takes} and sets the pace{advice}"


def _missing(books: Books, places: Sequence[Place], found: Backend) -> float:
    """Bytes that the card with the least room lacks for one request of full length."""
    want, ledger = books.want, books.ledger(found.tp)
    blocks = max(1, ledger.needed(1, want.context))
    known = {place.name: place for place in places}
    short = 0.0
    for number, used in enumerate(found.uses):
        stage = found.stages[number // found.tp]
        left = room(known[used.box], used.card, used.weights, used.overhead)
        cache = blocks * ledger.per_block(stage.start, stage.end)
        short = max(short, cache - min(left, want.given or math.inf))
    return short


def _pace(books: Books, backend: Backend, number: int) -> float:
    many = max(1.0, backend.requests / len(backend.stages))
    load = books.ledger(backend.tp).load
    return step(load, backend.stages[number], many, books.want.depth, books.constants)
