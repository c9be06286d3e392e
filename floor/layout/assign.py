"""Several models on the same boxes: room for each first, then as much as each can use.

A place for every model is searched with backtracking, the largest first, each with no more cache than it needs; so a
fleet on which all of them fit is never refused. Then each model in turn gets the layout that is best in what the others
leave.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from floor.layout.advice import Advice, advise
from floor.layout.backend import LEAST, PIPELINE, TENSOR, WANTED, Backend, Misfit
from floor.layout.fleet import Place, Want
from floor.layout.layouts import Found, copy, find, unlike
from floor.layout.ledger import Books
from floor.layout.placing import build
from floor.layout.speed import Constants


@dataclass(frozen=True)
class Answer:
    """What is said of one model: the layouts there are in what the others leave, and which one to take."""

    want: Want
    found: Found
    advice: Advice


def answer(wants: Sequence[Want], places: Sequence[Place], constants: Constants) -> list[Answer]:
    """Given models and boxes, return what is said of each model, in their order.

    Where not all of them fit, those that do not have nothing chosen.
    """
    books = {want.name: Books(want, constants) for want in wants}
    if len(wants) == 1:
        found = find(books[wants[0].name], places)
        return [Answer(wants[0], found, advise(wants[0], found.layouts, places, constants))]
    held = reserve(list(books.values()), places) or {}
    answers = []
    for want in wants:
        others = [backend for name, some in held.items() if name != want.name for backend in some]
        left = leave(places, others)
        found = find(books[want.name], left, WANTED)
        if not held:  # together they do not fit: said of each as if it were alone, and none is chosen
            answers.append(Answer(want, found, Advice(None, (), (), enough=False)))
            continue
        said = advise(want, found.layouts, left, constants, beside=True)
        held[want.name] = said.chosen.backends if said.chosen else ()
        answers.append(Answer(want, found, said))
    return answers


def reserve(books: Sequence[Books], places: Sequence[Place]) -> dict[str, tuple[Backend, ...]] | None:
    """Given models and boxes, return a place for each with the least cache it needs, two for a critical one where that
    can be had; None where there is none for all.
    """
    ordered = sorted(books, key=lambda one: one.want.weights.total, reverse=True)
    twice = [one for one in ordered for _ in range(2 if one.want.critical else 1)]
    single = [Books(replace(one.want, at_once=1), one.constants) for one in ordered]
    for items in (twice, ordered, single):
        found = _place(items, places, set())
        if found is not None:
            held: dict[str, tuple[Backend, ...]] = {}
            for one, backend in zip(items, found, strict=True):
                held[one.want.name] = (*held.get(one.want.name, ()), backend)
            return held
    return None


def leave(places: Sequence[Place], backends: Sequence[Backend]) -> list[Place]:
    """Given boxes and backends on them, return the boxes with what these take taken."""
    left = []
    for place in places:
        cards = list(place.cards)
        for backend in backends:
            free = list(range(len(cards)))
            for used in backend.uses:
                if used.box != place.name:
                    continue
                # cards that are alike stand for each other
                spot = next(
                    (n for n in free if cards[n].name == used.card.name and cards[n].taken == used.card.taken), None
                )
                spot = spot if spot is not None else next(n for n in free if cards[n].name == used.card.name)
                free.remove(spot)
                more = used.weights + used.overhead.total + used.cache
                cards[spot] = replace(cards[spot], taken=cards[spot].taken + more)
        left.append(replace(place, cards=tuple(cards)))
    return left


def _place(
    items: Sequence[Books], places: Sequence[Place], seen: set[tuple[int, tuple[str, ...]]]
) -> list[Backend] | None:
    if not items:
        return []
    key = (len(items), tuple(sorted(repr(replace(place, name="")) for place in places)))
    if key in seen:
        return None
    seen.add(key)
    least = sum(one.want.weights.total for one in items)
    if least > sum(place.usable(card) for place in places for card in place.cards):
        return None
    first, *rest = items
    for backend in _options(first, places):
        if backend.at_once < first.want.at_once:
            continue
        elsewhere = leave(places, [backend])
        if rest and rest[0] is first:  # the second of a critical model has to stand on other boxes
            free = [place for place in elsewhere if place.name not in backend.boxes]
            second = next((one for one in _options(first, free) if one.at_once >= first.want.at_once), None)
            if second is None:
                continue
            found = _place(rest[1:], leave(elsewhere, [second]), seen)
            if found is not None:
                return [backend, second, *found]
            continue
        found = _place(rest, elsewhere, seen)
        if found is not None:
            return [backend, *found]
    return None


def _options(books: Books, places: Sequence[Place]) -> Iterator[Backend]:
    """A copy on each box, the tightest first; then groups, of few boxes first. Boxes that are alike count once."""
    copies = [copy(books, place, LEAST) for (place,) in unlike(places, 1)]
    fitting = [backend for backend in copies if not isinstance(backend, Misfit)]
    yield from sorted(fitting, key=lambda backend: min(used.left for used in backend.uses))
    if books.want.engine != "vllm" or not books.want.shape.causal:
        return
    linked = books.want.linked(places)
    for size in range(2, len(linked) + 1):
        for some in unlike(linked, size):
            for how in (TENSOR, PIPELINE):
                backend = build(books, some, how, LEAST)
                if not isinstance(backend, Misfit):
                    yield backend
