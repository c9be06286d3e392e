"""Holding the boxes: taken everywhere or given back, kept alive, lost, and who holds them."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from floor.errors import BoxError, BusyError
from floor.operations import caller, lease
from floor.operations.lease import Lease
from tests.simulated.situation import Situation


def holding(situation: Situation) -> Lease:
    site = situation.site()
    return Lease(site, site.observe().seen, "deploy", None, "")


def test_a_box_taken_by_another_is_told_and_the_others_are_given_back(deployed: Situation) -> None:
    mine, other = holding(deployed), holding(deployed)
    other.seen = {"spark-b": other.seen["spark-b"]}
    with other, pytest.raises(BusyError, match="another operation was quicker on spark-b"), mine:
        pytest.fail("not reached")
    record = deployed.box("spark-a").record
    assert record is not None
    assert (record["epoch"], record["state"]) == (mine.epoch, "failed")
    late = Lease(deployed.site(), mine.seen, "deploy", None, "")  # from what was seen before all that
    with pytest.raises(BusyError, match="another operation was quicker on spark-"), late:
        pytest.fail("not reached")


def test_a_lease_that_a_box_refuses_to_renew_is_lost(deployed: Situation) -> None:
    mine = holding(deployed)
    with mine:
        deployed.box("spark-b").power_cut()
        mine.renew()
        assert mine.lost.is_set()
        assert mine.reason.startswith(f"epoch {mine.epoch} has lost this box: its lease ran out; run the command")


def test_a_box_out_of_reach_does_not_lose_the_lease_but_one_that_fails_does(deployed: Situation) -> None:
    with holding(deployed) as mine:
        deployed.box("spark-b").up = False
        mine.renew()
        assert not mine.lost.is_set()
        deployed.box("spark-b").up = True
        deployed.box("spark-b").refuses = BoxError("spark-b: its floor is damaged")
        mine.renew()
        assert mine.reason == "spark-b: its floor is damaged"
        deployed.box("spark-b").refuses = None


def test_whatever_keeps_it_from_being_renewed_ends_the_work(
    deployed: Situation, monkeypatch: pytest.MonkeyPatch
) -> None:
    with holding(deployed) as mine:
        monkeypatch.setattr(deployed.box("spark-a"), "call", lambda *_given, **_named: 1 / 0)
        mine.renew()
        assert mine.reason == "the hold on the boxes cannot be kept: division by zero"
        monkeypatch.undo()


def test_the_thread_renews_until_it_is_over(deployed: Situation, monkeypatch: pytest.MonkeyPatch) -> None:
    renewed = threading.Event()
    monkeypatch.setattr(lease, "RENEW_EVERY", 0.001)
    monkeypatch.setattr(Lease, "renew", lambda _: renewed.set())
    with holding(deployed):
        assert renewed.wait(10)


def test_ctrl_c_is_recorded(deployed: Situation, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(deployed.box("spark-a").calls, "drain_add", interrupted)
    with pytest.raises(KeyboardInterrupt):
        deployed.restart()
    assert [(box.record or {})["state"] for box in deployed.world.boxes.values()] == ["interrupted"] * 2


def test_who_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    me = caller.caller()
    assert caller.name() == f"{me['user']}@{me['host']}"
    assert not caller.dead(me)
    assert caller.dead({**me, "started": me["started"] - 3600})  # the number was given to another process
    assert caller.dead({**me, "pid": 2**22 + 1})
    assert caller.dead({**me, "pid": None})
    assert not caller.dead({**me, "user": "somebody else", "pid": 2**22 + 1})

    def nameless() -> str:
        raise KeyError("getpwuid(): uid not found")

    monkeypatch.setattr("getpass.getuser", nameless)
    assert caller.user().startswith("uid-")
