"""What falls silent is told to be, and holds nobody up."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from floor.operations.heard import heard


def test_all_that_comes_and_the_end() -> None:
    assert list(heard([1, 2, 3], 5.0)) == [1, 2, 3]
    assert list(heard([], 5.0)) == []


def test_a_silence() -> None:
    gate = threading.Event()

    def source() -> Iterator[int]:
        yield 1
        gate.wait(30)
        yield 2

    found = heard(source(), 0.01)
    assert next(found) == 1
    assert next(found) is None
    assert next(found) is None
    gate.set()
    assert 2 in list(found)


def test_what_is_raised_there_is_raised_here() -> None:
    def source() -> Iterator[int]:
        yield 1
        raise KeyError("x")

    found = heard(source(), 5.0)
    assert next(found) == 1
    with pytest.raises(KeyError, match="x"):
        next(found)
