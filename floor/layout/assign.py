"""Several models on the same boxes: room for each first, then as much as each can use.

A place for every model is searched with backtracking, the largest first, each with no more cache than it needs; so a
fleet on which all of them fit is never refused. Then each model in turn gets the layout that is best in what the others
leave.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice

from floor.layout.advice import Advice, advise
from floor.layout.backend import LEAST, PIPELINE, TENSOR, WANTED, Backend, Misfit
from floor.layout.fleet import Place, Want
from floor.layout.layouts import Found, copy, find, unlike
from floor.layout.ledger import Books
from floor.layout.placing import build
from floor.layout.speed import Constants

_TRIES = 24  # choices of models to leave out that are looked at


@dataclass(frozen=True)
class Answer:
    """What is said of one model: the layouts there are in what the others leave, and which one to take. `alone`: it
    would fit if it had the boxes for itself."""

    want: Want
    found: Found
    advice: Advice
    alone: bool = False


def answer(wants: Sequence[Want], places: Sequence[Place], constants: Constants) -> list[Answer]:
    """Given models and boxes, return what is said of each model, in their order.

    Where not all of them fit, as few as can be have nothing chosen: those that fit nowhere, then the largest.
    """
    books = {want.name: Books(want, constants) for want in wants}
    if len(wants) == 1:
        found = find(books[wants[0].name], places)
        advice = advise(wants[0], found.layouts, places, constants)
        return [Answer(wants[0], found, advice, alone=bool(found.layouts))]
    held = _most(list(books.values()), places)
    answers: dict[str, Answer] = {}
    # those that there is no room for take what is left in the end
    for want in sorted(wants, key=lambda want: want.name not in held):
        others = [backend for name, some in held.items() if name != want.name for backend in some]
        left = leave(places, others)
        found = find(books[want.name], left, WANTED)
        said = advise(want, found.layouts, left, constants, beside=True)
        held[want.name] = said.chosen.backends if said.chosen else ()
        alone = bool(found.layouts) or reserve([books[want.name]], places) is not None
        answers[want.name] = Answer(want, found, said, alone)
    return [answers[want.name] for want in wants]


def _most(books: Sequence[Books], places: Sequence[Place]) -> dict[str, tuple[Backend, ...]]:
    """A place for as many models as can be, as `reserve` does it for all; of two that can be left out the larger is."""
    if found := reserve(books, places):
        return found
    some = sorted(
        (one for one in books if reserve([one], places)), key=lambda one: one.want.weights.total, reverse=True
    )
    choices = (left_out for many in range(len(some)) for left_out in combinations(some, many))
    for left_out in islice(choices, _TRIES):
        if found := reserve([one for one in some if one not in left_out], places):
            return found
    kept: list[Books] = []  # too many to look at every choice: one after the other, the smallest first
    found = {}
    for one in reversed(some):
        if more := reserve([*kept, one], places):
            kept, found = [*kept, one], more
    return found


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
                spot = next((n for n in free if cards[n] == used.card), None)
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
