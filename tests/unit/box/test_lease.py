"""Whose turn it is, decided from the record alone."""

from __future__ import annotations

from typing import Any

import pytest

from floor.box import lease
from floor.box.lease import HeldError, Now
from floor.errors import RefusedError

BOOT = Now("boot-1", 1000.0)
ANN = {"user": "ann", "host": "laptop", "pid": 10, "started": 1.5}
BOB = {"user": "bob", "host": "desk", "pid": 20, "started": 2.5}


def wanted(epoch: int, by: dict[str, Any] = ANN, **more: Any) -> dict[str, Any]:
    return {"epoch": epoch, "verb": "deploy", "target": "replicas", "config": "c0ffee", "by": by, **more}


def at(seconds: float, boot: str = "boot-1") -> Now:
    return Now(boot, 1000.0 + seconds)


def test_the_first_take_writes_who_what_and_until_when() -> None:
    assert lease.take(None, wanted(1), BOOT) == {
        "epoch": 1,
        "verb": "deploy",
        "target": "replicas",
        "config": "c0ffee",
        "by": ANN,
        "state": "live",
        "lease": 90.0,
        "until": {"boot": "boot-1", "monotonic": 1090.0},
    }


def test_a_lease_is_live_until_its_time_and_on_its_boot_only() -> None:
    record = lease.take(None, wanted(1), BOOT)
    assert lease.live(record, at(89.9))
    assert not lease.live(record, at(90))
    assert not lease.live(record, at(1, "boot-2"))
    assert not lease.live(None, BOOT)
    assert not lease.live(lease.ended(record, "done"), at(1))


def test_one_of_which_nothing_is_left_is_told_as_done_once_nobody_holds_it() -> None:
    for passing, over in ((True, "done"), (False, "live")):
        record = lease.take(None, wanted(1, passing=passing), BOOT)
        assert lease.told(record, at(89))["state"] == "live"
        told = lease.told(record, at(91))
        assert (told["state"], told["live"], told["boot"]) == (over, False, "boot-1")
        failed = lease.told(lease.ended(record, "failed"), at(1))
        assert failed["state"] == ("done" if passing else "failed")


def test_another_caller_is_told_who_holds_the_box_and_since_when() -> None:
    record = lease.take(None, wanted(7), BOOT)
    with pytest.raises(HeldError) as caught:
        lease.take(record, wanted(8, BOB), at(1))
    assert str(caught.value) == "held by `deploy` of ann@laptop (process 10, epoch 7) since 1970-01-01 00:00:01 UTC"
    assert caught.value.record == record
    assert caught.value.exit_code == 4


def test_the_same_user_takes_over_from_a_dead_process_by_naming_it() -> None:
    record = lease.take(None, wanted(7), BOOT)
    again = {**ANN, "pid": 11, "started": 9.0}
    fresh = lease.take(record, wanted(8, again, takeover=7), at(1))
    assert (fresh["epoch"], fresh["by"]) == (8, again)


@pytest.mark.parametrize(
    ("by", "takeover"),
    [
        (ANN, None),
        (ANN, 6),
        (BOB, 7),
        ({**ANN, "host": "other"}, 7),
        ({**ANN, "user": "root"}, 7),
    ],
)
def test_nobody_else_takes_over_a_live_lease(by: dict[str, Any], takeover: int | None) -> None:
    record = lease.take(None, wanted(7), BOOT)
    with pytest.raises(HeldError):
        lease.take(record, wanted(8, by, takeover=takeover), at(1))


def test_anybody_takes_a_box_whose_lease_ran_out_or_that_was_booted_or_given_back() -> None:
    record = lease.take(None, wanted(7), BOOT)
    assert lease.take(record, wanted(8, BOB), at(90))["by"] == BOB
    assert lease.take(record, wanted(8, BOB), at(1, "boot-2"))["by"] == BOB
    assert lease.take(lease.ended(record, "failed"), wanted(8, BOB), at(1))["by"] == BOB


@pytest.mark.parametrize("epoch", [1, 6, 7])
def test_an_epoch_that_does_not_rise_is_refused(epoch: int) -> None:
    record = lease.ended(lease.take(None, wanted(7), BOOT), "done")
    with pytest.raises(RefusedError, match=rf"epoch {epoch} is not above 7, the last one this box has seen"):
        lease.take(record, wanted(epoch, BOB), at(1))


def test_the_holder_renews_for_as_long_as_it_asked_for() -> None:
    record = lease.take(None, wanted(7, lease=30), BOOT)
    assert lease.renewed(lease.held(record, 7, at(20)), at(20))["until"]["monotonic"] == 1050.0


def test_a_holder_that_slept_through_its_lease_is_refused() -> None:
    record = lease.take(None, wanted(7), BOOT)
    with pytest.raises(HeldError, match="epoch 7 has lost this box: its lease ran out; run the command again"):
        lease.held(record, 7, at(90))


def test_a_holder_that_was_taken_over_is_told_by_whom() -> None:
    record = lease.take(lease.take(None, wanted(7), BOOT), wanted(8, BOB), at(100))
    with pytest.raises(HeldError, match="epoch 7 does not hold this box: held by `deploy` of bob@desk"):
        lease.held(record, 7, at(101))


@pytest.mark.parametrize(
    ("record", "now", "words"),
    [
        (None, BOOT, "no operation was ever recorded; take the epoch first"),
        (lease.ended(lease.take(None, wanted(9), BOOT), "done"), BOOT, "the last operation was epoch 9 and ended done"),
        (lease.take(None, wanted(9), BOOT), at(500), "the last operation was epoch 9 and was abandoned"),
    ],
)
def test_who_does_not_hold_the_box_is_told_why(record: dict[str, Any] | None, now: Now, words: str) -> None:
    with pytest.raises(HeldError, match=words):
        lease.held(record, 8, now)


def test_an_operation_ends_as_one_of_four_words() -> None:
    record = lease.take(None, wanted(7), BOOT)
    assert [lease.ended(record, state)["state"] for state in lease.ENDS] == ["done", "failed", "aborted", "interrupted"]
    with pytest.raises(
        RefusedError, match="state 'live': an operation ends as one of done, failed, aborted, interrupted"
    ):
        lease.ended(record, "live")


@pytest.mark.parametrize(
    ("started", "words"),
    [(None, ""), ("yesterday", " since yesterday"), (1796010036, " since 2026-11-30 03:40:36 UTC")],
)
def test_the_holder_is_named_whatever_it_told_of_itself(started: Any, words: str) -> None:
    record = {**lease.take(None, wanted(7, {"started": started}), BOOT)}
    assert lease.words(record) == f"`deploy` of ?@? (process ?, epoch 7){words}"


def test_a_boot_that_the_holder_asked_for_ends_no_lease() -> None:
    record = lease.rebooting(lease.take(None, wanted(1), BOOT), BOOT)
    soon, late = Now("boot-2", 5.0, lease.AFTER_BOOT - 0.1), Now("boot-2", 5.0, lease.AFTER_BOOT)
    assert lease.live(record, soon)
    with pytest.raises(HeldError):
        lease.take(record, wanted(2, BOB), soon)
    again = lease.renewed(lease.held(record, 1, soon), soon)
    assert again["until"] == {"boot": "boot-2", "monotonic": 95.0}
    assert not lease.live(record, late)
    with pytest.raises(HeldError, match="epoch 1 has lost this box: its lease ran out"):
        lease.held(record, 1, late)


def test_another_boot_than_that_ends_it() -> None:
    """It came back, was reached, and lost its power: nobody asked for that."""
    record = lease.rebooting(lease.take(None, wanted(1), BOOT), BOOT)
    again = lease.renewed(record, Now("boot-2", 5.0, 1.0))
    assert not lease.live(again, Now("boot-3", 5.0, 1.0))
