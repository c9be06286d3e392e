"""Of what several pools see alike one box tells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from floor.notify import peers
from floor.notify.decide import Matter, Open, Told

NOBODY, ONE, LOST = Matter("nobody m", "x"), Matter("one left m", "x"), Matter("lost m@b", "x")
SILENT = Matter("pool silent", "x")


ALL = (NOBODY.key, ONE.key, LOST.key)


def status(a: bool, b: bool, *, age: float = 1.0, stopping: bool = False, said: Sequence[str] = ALL) -> dict[str, Any]:
    """What a proxy box tells whose pool has so much of the copies on a and b, and that has told people of `said`."""
    told = {"m@a": {"member": a}, "m@b": {"member": b}, "other@a": {"member": True}}
    return {"stopping": stopping, "pool": {"age": age, "backends": told}, "told": list(said)}


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


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ([status(True, False, said=())], [True, True]),  # its web hook fails
        ([status(True, False, said=["lost m@b"])], [True]),
        ([status(True, False, said=()), status(True, False)], []),
        ([status(True, False, said=()), status(True, True, said=())], [True, True]),
        ([status(True, True)], [False, False]),  # what it told of is over there
        ([{key: one for key, one in status(True, False).items() if key != "told"}], [True, True]),  # an older release
    ],
)
def test_what_another_one_sees_and_does_not_tell_is_told_later(
    earlier: list[dict[str, Any]], later: list[bool]
) -> None:
    own = peers.own([ONE, LOST], Told({}), earlier)
    assert [one.after for one in own] == [peers.PATIENCE if waits else 0.0 for waits in later]
    assert [one.key for one in own] == ([ONE.key, LOST.key] if len(later) == 2 else [ONE.key][: len(later)])


def test_what_was_told_from_here_stays_here_until_it_is_over() -> None:
    """Else it would be said to be over when the box before this one is back."""
    told = Told({"one left m": Open("x", 1.0, 2.0, told=2.0), "lost m@b": Open("x", 1.0, 2.0)})
    assert peers.own([ONE, LOST], told, [status(True, False)]) == [ONE]
