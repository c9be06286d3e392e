"""A cut as a person wrote it: what its cache holds, and which stretch sets the pace."""

from __future__ import annotations

import pytest

from floor.layout import weights
from floor.layout.cards import CARDS
from floor.layout.fit import constants
from floor.layout.fleet import Place, Want
from floor.layout.ledger import Books
from floor.layout.stated import stated, warnings
from tests.unit.layout.models import published


def _books(context: int = 8192) -> Books:
    shape = published("llama-3.3-70b")
    return Books(Want("m", shape, weights.computed(shape, 4.5), context), constants())


def _sparks(utilization: float | None = None) -> list[Place]:
    return [Place(name, (CARDS["gb10"],), utilization=utilization) for name in ("a", "b")]


def test_an_even_cut_of_alike_cards_is_warned_of_by_nobody() -> None:
    assert list(warnings(_books(), _sparks(), 1, [40, 40])) == []
    assert list(warnings(_books(), _sparks(), 2, [80])) == []


def test_a_stretch_that_sets_the_pace_is_named_with_a_better_cut() -> None:
    (line,) = warnings(_books(), _sparks(), 1, [60, 20])
    assert line == (
        "m@a+b: its stretch of 60 layers on a takes 1.4 times the mean and sets the pace; [41, 39] would do better"
    )


def test_layers_that_follow_the_cards_are_no_matter() -> None:
    places = [Place("a", (CARDS["a100-80"],)), Place("b", (CARDS["gb10"],))]
    assert list(warnings(_books(), places, 1, [69, 11])) == []
    (line,) = warnings(_books(), places, 1, [40, 40])
    assert "its stretch of 40 layers on b takes " in line


def test_a_context_that_no_request_could_use_is_told_with_what_there_is_room_for() -> None:
    (line,) = warnings(_books(131_072), _sparks(0.25), 1, [40, 40])
    found = stated(_books(131_072), _sparks(0.25), 1, [40, 40])
    assert found is not None
    assert 0 < found.longest < 131_072
    room = f"its cache has room for {found.longest:,}; 14.6 GiB more would do"
    assert line == f"m@a+b: no request of 131,072 tokens could be held: {room}"
    (line,) = warnings(_books(131_072), _sparks(0.1), 1, [40, 40])
    assert line.endswith("could be held: its weights alone do not fit; 32.8 GiB more would do")


@pytest.mark.parametrize(("tp", "layers"), [(1, [40, 41]), (1, [80]), (4, [80]), (1, [80, 0]), (2, [40, 40])])
def test_a_cut_that_these_boxes_do_not_have_is_judged_by_others(tp: int, layers: list[int]) -> None:
    assert stated(_books(), _sparks(), tp, layers) is None
    assert list(warnings(_books(), _sparks(), tp, layers)) == []
