"""Of what several pools see alike one box tells."""

from __future__ import annotations

from typing import Any

import pytest

from floor.notify import peers
from floor.notify.decide import Matter, Open, Told

NOBODY, ONE, LOST = Matter("nobody m", "x"), Matter("one left m", "x"), Matter("lost m@b", "x")
SILENT = Matter("pool silent", "x")


def status(a: bool, b: bool, *, age: float = 1.0, stopping: bool = False) -> dict[str, Any]:
    """What a proxy box tells whose pool has so much of the copies on a and b."""
    told = {"m@a": {"member": a}, "m@b": {"member": b}, "other@a": {"member": True}}
    return {"stopping": stopping, "pool": {"age": age, "backends": told}}


@pytest.mark.parametrize(
    ("found", "earlier", "own"),
    [
        ([ONE, LOST], [], [ONE, LOST]),  # the first, or the only one that is up
        ([ONE, LOST], [status(True, False)], []),
        ([NOBODY, LOST], [status(False, False)], []),
        ([NOBODY, LOST], [status(True, False)], [NOBODY]),  # that one still has somebody
        ([ONE, LOST], [status(True, True)], [ONE, LOST]),
        ([ONE], [status(False, False)], [ONE]),
        ([ONE, LOST], [status(True, True), status(True, False)], []),  # the second of three tells
        ([ONE, LOST], [status(True, False, age=61)], [ONE, LOST]),  # its pool is silent
        ([ONE, LOST], [status(True, False, stopping=True)], [ONE, LOST]),
        ([ONE, LOST], [{"stopping": False, "pool": None}], [ONE, LOST]),
        ([ONE, LOST], [{}], [ONE, LOST]),
        ([SILENT], [status(True, False)], [SILENT]),
    ],
)
def test_who_tells(found: list[Matter], earlier: list[dict[str, Any]], own: list[Matter]) -> None:
    assert peers.own(found, Told({}), earlier) == own


def test_what_was_told_from_here_stays_here_until_it_is_over() -> None:
    """Else it would be said to be over when the box before this one is back."""
    told = Told({"one left m": Open("x", 1.0, 2.0, told=2.0), "lost m@b": Open("x", 1.0, 2.0)})
    assert peers.own([ONE, LOST], told, [status(True, False)]) == [ONE]
