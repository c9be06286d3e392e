"""A box that was away holds what operations found absent without it, and nothing that is over."""

from __future__ import annotations

import pytest

from floor.box.drains import Drain
from floor.pool.missed import Told, missed

ABSENT = {"m@b": ("absent: b",)}


@pytest.mark.parametrize(
    ("told", "epoch", "found"),
    [
        ([Told(2, ABSENT)], 1, [("m@b", "absent: b")]),
        ([Told(2, ABSENT), Told(2, ABSENT)], 1, [("m@b", "absent: b")]),
        ([Told(2, ABSENT)], 2, []),
        ([Told(1, ABSENT)], 2, []),
        ([Told(3, {})], 1, []),
        ([], 0, []),
    ],
    ids=["missed", "told by two", "took part", "the other was away later", "nobody was absent", "nobody tells"],
)
def test_whose_word_counts(told: list[Told], epoch: int, found: list[tuple[str, str]]) -> None:
    assert missed(told, epoch, {}) == found


def test_what_is_held_already_is_not_new() -> None:
    held = {"m@b": (Drain("absent: b", None, 1.0),)}
    assert missed([Told(2, ABSENT)], 1, held) == []


def test_an_operations_drain_of_that_name_is_another() -> None:
    held = {"m@b": (Drain("absent: b", 1, 1.0),)}
    assert missed([Told(2, ABSENT)], 1, held) == [("m@b", "absent: b")]
