"""Faults in force: until cleared, for so long, or for so many requests."""

from __future__ import annotations

import pytest

from floor.errors import UsageError
from floor.sim import crash
from floor.sim.faults import KINDS, Active, known, make, parse


def test_every_fault_can_be_made_without_settings() -> None:
    assert all(make(kind).kind == kind for kind in KINDS)


def test_a_fault_is_in_force_until_it_is_cleared() -> None:
    active = Active()
    active.add(make("hang"), now=0)
    assert active.names(1e9) == ["hang"]
    assert active.clear("hang") == ["hang"]
    assert active.get("hang", 1e9) is None
    assert active.clear("hang") == []


def test_clearing_all_leaves_none() -> None:
    active = Active()
    for kind in ("hang", "slow", "dead"):
        active.add(make(kind), now=0)
    assert sorted(active.clear()) == ["dead", "hang", "slow"]
    assert active.names(0) == []


def test_one_that_lasts_a_while_clears_itself() -> None:
    active = Active()
    active.add(parse("hang:for=5"), now=100)
    assert active.get("hang", 104.9) is not None
    assert active.get("hang", 105) is None
    assert active.names(105) == []


def test_one_for_so_many_requests_clears_itself_after_them() -> None:
    active = Active()
    active.add(make("error", {"times": 2}), now=0)
    struck = [active.strike("error", 1) is not None for _ in range(4)]
    assert struck == [True, True, False, False]


def test_asking_about_a_fault_does_not_use_it_up() -> None:
    active = Active()
    active.add(make("error", {"times": 1}), now=0)
    assert all(active.get("error", 1) for _ in range(5))


def test_the_same_fault_again_replaces_the_first() -> None:
    active = Active()
    active.add(make("slow", {"rate": 1, "for": 2}), now=0)
    active.add(make("slow", {"rate": 2, "for": 2}), now=1)
    fault = active.get("slow", 2.5)
    assert fault is not None
    assert fault.number("rate") == 2


def test_settings_keep_their_types() -> None:
    fault = parse("die:how=exit,code=3,after=1.5,on=request")
    assert fault.options == {"how": "exit", "code": 3, "after": 1.5, "on": "request", "for": 0.0, "times": 0}
    assert fault.word("how") == "exit"


def test_an_unknown_fault_is_named_with_those_there_are() -> None:
    with pytest.raises(UsageError, match=r"^fault 'explode': no such fault; write one of dead, die, drop"):
        known("explode")


def test_memory_that_is_not_to_be_had_is_said_so() -> None:
    with pytest.raises(UsageError, match=r"^fault memory: 1000000000000 MiB are not to be had; take less$"):
        crash.hog(10**12)
