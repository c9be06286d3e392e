"""The record on disk: written whole, guarded by locks that die with their process."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from floor.box import operation
from floor.box.lease import HeldError, Now
from floor.box.operation import Operation
from floor.errors import FloorError

BY = {"user": "ann", "host": "laptop", "pid": 1, "started": 1.0}


class Clock:
    def __init__(self) -> None:
        self.time = 100.0

    def __call__(self) -> Now:
        return Now("boot", self.time)

    def sleep(self, seconds: float) -> None:
        self.time += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def record(root: Path, clock: Clock) -> Operation:
    return Operation(root, clock, clock.sleep)


def wanted(epoch: int, **more: Any) -> dict[str, Any]:
    return {"epoch": epoch, "verb": "deploy", "target": "replicas", "config": "c", "by": BY, **more}


@contextmanager
def locked(path: Path, how: int) -> Iterator[None]:
    """Another process's hold: flock belongs to the open file, so a second one in this process is another holder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT)
    fcntl.flock(handle, how)
    try:
        yield
    finally:
        os.close(handle)


def test_a_box_without_operations_has_no_record(record: Operation) -> None:
    assert record.read() is None


def test_what_was_taken_is_read_back_with_whether_it_is_live(record: Operation, clock: Clock, root: Path) -> None:
    taken = record.take(wanted(3))
    assert record.read() == taken
    assert (taken["live"], taken["boot"], taken["until"]["monotonic"]) == (True, "boot", 190.0)
    on_disk = json.loads((root / "var/lib/floor/operation.json").read_text())
    assert "live" not in on_disk
    clock.time = 190
    assert (record.read() or {})["live"] is False


def test_renewing_moves_the_end(record: Operation, clock: Clock) -> None:
    record.take(wanted(3))
    clock.time = 150
    assert record.renew(3)["until"]["monotonic"] == 240.0


def test_releasing_ends_it_and_keeps_the_epoch(record: Operation) -> None:
    record.take(wanted(3))
    assert record.release(3, "done")["state"] == "done"
    assert (record.read() or {})["epoch"] == 3
    with pytest.raises(HeldError, match="ended done"):
        record.renew(3)


def test_each_call_that_changes_something_renews_the_lease(record: Operation, clock: Clock) -> None:
    record.take(wanted(3))
    clock.time = 180
    with record.work(3) as held:
        assert held["until"]["monotonic"] == 270.0


def test_a_call_of_another_epoch_does_no_work(record: Operation) -> None:
    record.take(wanted(3))
    with pytest.raises(HeldError), record.work(2):
        pytest.fail("it was let in")


def test_two_calls_of_one_operation_work_side_by_side(record: Operation, root: Path, clock: Clock) -> None:
    record.take(wanted(3))
    with record.work(3), Operation(root, clock, clock.sleep).work(3):
        assert record.renew(3)["live"]


def test_who_takes_over_waits_until_the_calls_of_the_dead_process_have_ended(
    record: Operation, root: Path, clock: Clock
) -> None:
    """A call lives on in the box after the process that sent it was killed: it must not write after the takeover."""
    record.take(wanted(3))
    hold = locked(root / "var/lib/floor/work", fcntl.LOCK_SH)
    hold.__enter__()
    naps: list[float] = []

    def sleep(seconds: float) -> None:
        naps.append(seconds)
        if len(naps) == 5:
            hold.__exit__(None, None, None)

    taken = Operation(root, clock, sleep).take(wanted(4, takeover=3))
    assert taken["epoch"] == 4
    assert len(naps) == 5


def test_a_call_that_never_ends_keeps_the_box_and_says_so(record: Operation, root: Path) -> None:
    record.take(wanted(3))
    with (
        locked(root / "var/lib/floor/work", fcntl.LOCK_SH),
        pytest.raises(HeldError, match="a call of the operation before is still at work on this box"),
    ):
        record.take(wanted(4, takeover=3))
    assert (record.read() or {})["epoch"] == 3


def test_a_lock_that_is_never_given_back_is_named(record: Operation, root: Path) -> None:
    with (
        locked(root / "var/lib/floor/lock", fcntl.LOCK_EX),
        pytest.raises(FloorError, match=r"/var/lib/floor/lock: held by another call of the agent for over 30 s"),
    ):
        record.renew(3)


def test_outside_of_an_operation_one_call_may_hold_the_box(record: Operation) -> None:
    with record.idle():
        pass
    record.take(wanted(3))
    with pytest.raises(HeldError, match="held by `deploy` of ann@laptop"), record.idle():
        pytest.fail("it was let in")


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"epoch": 1}', '"x"', '{"state": "live", "until": 3}'])
def test_a_record_that_is_none_stops_everything_and_is_named(record: Operation, root: Path, text: str) -> None:
    place = root / "var/lib/floor/operation.json"
    place.parent.mkdir(parents=True)
    place.write_text(text)
    with pytest.raises(FloorError, match=r"/var/lib/floor/operation.json: is not an operation record; look at it"):
        record.take(wanted(9))
    assert place.read_text() == text


def test_a_folder_that_may_not_be_written_is_named(record: Operation, root: Path) -> None:
    (root / "var").write_text("in the way")
    with pytest.raises(FloorError, match=r"/var/lib/floor/lock: cannot be locked: .*; the agent runs as root"):
        record.renew(1)


def test_the_real_clock_is_this_boots() -> None:
    now = operation.now()
    assert now.boot == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert operation.now().monotonic >= now.monotonic > 0
