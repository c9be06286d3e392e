"""From the backends of a layout to what a simulation runs them as."""

from __future__ import annotations

from collections.abc import Callable

from floor.layout.backend import Backend
from floor.layout.figures import at
from floor.layout.layouts import Layout
from floor.layout.ledger import Books
from floor.layout.simulate import Server
from floor.layout.speed import together


def servers(books: Books, layout: Layout) -> list[Server]:
    """Given a model's books and a layout of it, return its backends as a simulation runs them."""
    want = books.want
    found = []
    for backend in layout.backends:
        known = want.measured.get(backend.name)
        curve = known.curve if known else {}
        ledger = books.ledger(backend.tp)
        tokens = (
            backend.blocks * max(group.block for group in ledger.table.groups) if ledger.table.groups else float("inf")
        )
        reads = 0.0 if curve else backend.reads / want.prompt
        speed = (lambda many, curve=curve: at(curve, many)) if curve else _speed(books, backend)
        found.append(
            Server(backend.name, speed, reads, want.cap, min(tokens, max(backend.holds, want.context)), want.context)
        )
    return found


def _speed(books: Books, backend: Backend) -> Callable[[int], float]:
    """The speed by requests at once: as measured, else as computed."""
    measured = books.want.measured.get(backend.name)
    if measured and (speeds := measured.speeds):
        return lambda many: speeds.together(many, books.want.depth)
    load = books.ledger(backend.tp).load
    known: dict[int, float] = {}

    def speed(many: int) -> float:
        if many not in known:
            depth = books.want.depth
            known[many] = together(load, backend.stages, many, depth, books.constants, boxes=len(backend.boxes))
        return known[many]

    return speed
