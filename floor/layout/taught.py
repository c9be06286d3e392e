"""What a copy was measured at teaches the cards of its box: every other layout on them is computed with that."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from floor.layout.backend import Backend
from floor.layout.calibrated import Speeds
from floor.layout.cards import Card
from floor.layout.fleet import Place, Want
from floor.layout.layouts import copy
from floor.layout.ledger import Books
from floor.layout.speed import Constants, reading, step
from floor.layout.stated import stated

_LEAST = 0.2  # of a measured step: what reading takes of it at least, whatever the fixed cost of the table is


def taught(place: Place, wants: Sequence[Want], constants: Constants) -> Place:
    """Given a box, and models with what their backends were measured at, return the box with the bandwidth and the
    compute that its cards reached with the first copy that was measured there; as it is where none was.

    Measured steps give the bandwidth: what they take beyond the fixed cost is reading. Measured prompts give the
    compute.
    """
    for want in wants:
        known = want.measured.get(f"{want.name}@{place.name}")
        if known is None or known.speeds is None:
            continue
        books = Books(want.as_other(), constants)
        backend = stated(books, [place], *known.cut) if known.cut else copy(books, place)
        if isinstance(backend, Backend):
            return _with(place, books, backend, known.speeds)
    return place


def _with(place: Place, books: Books, backend: Backend, speeds: Speeds) -> Place:
    load, constants = books.ledger(backend.tp).load, books.constants
    alone = [point for point in speeds.points if point.at_once == 1]
    shortest, longest = min(alone, key=lambda one: one.prompt), max(alone, key=lambda one: one.prompt)
    quicker = reading(load, backend.stages, longest.prompt, constants) / longest.first

    def spent(wider: float) -> float:
        stages = [replace(stage, cards=_cards(stage.cards, wider, quicker)) for stage in backend.stages]
        return sum(step(load, stage, 1, shortest.depth, constants) for stage in stages)

    beside = spent(math.inf)  # what a step takes whatever the bandwidth is
    measured = shortest.step * load.per_step
    wider = (spent(1.0) - beside) / max(_LEAST * measured, measured - beside)
    return replace(place, cards=_cards(place.cards, wider, quicker))


def _cards(cards: Sequence[Card], wider: float, quicker: float) -> tuple[Card, ...]:
    return tuple(replace(card, bandwidth=card.bandwidth * wider, compute=card.compute * quicker) for card in cards)
