"""The operation record of this box: read, taken, renewed and ended under a lock that dies with its process."""

from __future__ import annotations

import fcntl
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from floor.box import alive, files, lease, paths
from floor.box.lease import HeldError, Now, Record
from floor.box.locked import mine
from floor.errors import FloorError

WAIT = 30.0  # seconds; the longest call of an agent that changes something takes 25


class StuckError(FloorError):
    """A lock of this box is not given back."""


def now() -> Now:
    """This box's boot id and its monotonic clock, as the services read them too."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return Now(boot, time.monotonic(), _up())


def _up() -> float:
    """Seconds since the first process of this machine began, which in a container is not the kernel's boot."""
    began = alive.began(1)
    if began is None:
        return math.inf
    return time.clock_gettime(time.CLOCK_BOOTTIME) - int(began) / os.sysconf("SC_CLK_TCK")


class Operation:
    """The record below `root`; `clock` gives the box's time, `sleep` passes it while a lock is held by another."""

    def __init__(
        self,
        root: Path = paths.ROOT,
        clock: Callable[[], Now] = now,
        sleep: Callable[[float], None] = time.sleep,
        owner: str | None = None,
    ) -> None:
        self._root, self._clock, self._sleep, self._owner = root, clock, sleep, owner or mine()

    def read(self) -> Record | None:
        """The record as `lease.told` tells it; None before the first operation.

        Raises FloorError when the file is no such record: nothing may change then until a person has looked.
        """
        return self._read()[1]

    def _bare(self) -> Record | None:
        """The record as it lies there."""
        return self._read()[0]

    def _read(self) -> tuple[Record | None, Record | None]:
        try:
            record = json.loads(paths.under(self._root, paths.OPERATION).read_text())
            return record, lease.told(record, self._clock())
        except FileNotFoundError:
            return None, None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise FloorError(
                f"{paths.OPERATION}: is not an operation record; look at it, and remove it if no operation is running"
            ) from None

    def take(self, wanted: Mapping[str, Any]) -> Record:
        """Given {epoch, verb, target, config, by, takeover, lease, passing}, write and return the new record.

        Waits until calls of the epoch before have ended: a call may outlive the process that sent it. Raises HeldError
        and RefusedError as `lease.take` does, HeldError also when such a call is still at work after half a minute.
        """
        with self._locked(paths.LOCK, fcntl.LOCK_EX):
            before = self._bare()
            fresh = lease.take(before, wanted, self._clock())
            try:
                with self._locked(paths.WORK, fcntl.LOCK_EX):
                    return self._write(fresh)
            except StuckError:
                raise HeldError("a call of the operation before is still at work on this box", before or {}) from None

    def renew(self, epoch: int) -> Record:
        """Run the lease of the holder from now. Raises as `lease.held` does."""
        with self._locked(paths.LOCK, fcntl.LOCK_EX):
            return self._renew(epoch)

    def reboots(self, epoch: int) -> Record:
        """Note that the holder reboots this box now, so that it still holds it afterwards. Raises as `renew` does."""
        with self._locked(paths.LOCK, fcntl.LOCK_EX):
            now = self._clock()
            return self._write(lease.rebooting(lease.renewed(lease.held(self._bare(), epoch, now), now), now))

    def release(self, epoch: int, state: str) -> Record:
        """End the holder's operation as `state`. Raises as `lease.held` and `lease.ended` do."""
        with self._locked(paths.LOCK, fcntl.LOCK_EX):
            held = lease.held(self._bare(), epoch, self._clock())
            return self._write(lease.ended(held, state))

    @contextmanager
    def work(self, epoch: int) -> Iterator[Record]:
        """Hold the box for one call that changes something: nobody else takes it until the call has ended."""
        with self._locked(paths.LOCK, fcntl.LOCK_EX):
            record = self._renew(epoch)
            handle = self._lock(paths.WORK, fcntl.LOCK_SH)
        try:
            yield record
        finally:
            os.close(handle)

    @contextmanager
    def idle(self) -> Iterator[None]:
        """Hold the box for one call outside of any operation. Raises HeldError while an operation holds it."""
        with self._locked(paths.LOCK, fcntl.LOCK_EX):
            record = self._bare()
            if record is not None and lease.live(record, self._clock()):
                raise HeldError(f"held by {lease.words(record)}", record)
            handle = self._lock(paths.WORK, fcntl.LOCK_SH)
        try:
            yield
        finally:
            os.close(handle)

    def _renew(self, epoch: int) -> Record:
        now = self._clock()
        return self._write(lease.renewed(lease.held(self._bare(), epoch, now), now))

    def _write(self, record: Record) -> Record:
        text = json.dumps(record, indent=1) + "\n"
        files.write(paths.OPERATION, text, mode=0o644, owner=self._owner, root=self._root)
        return lease.told(record, self._clock())

    @contextmanager
    def _locked(self, path: Path, how: int) -> Iterator[None]:
        handle = self._lock(path, how)
        try:
            yield
        finally:
            os.close(handle)

    def _lock(self, path: Path, how: int) -> int:
        place = paths.under(self._root, path)
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise FloorError(f"{path}: cannot be locked: {error.strerror}; the agent runs as root") from None
        waited = 0.0
        while True:
            try:
                fcntl.flock(handle, how | fcntl.LOCK_NB)
            except BlockingIOError:
                if waited >= WAIT:
                    os.close(handle)
                    raise StuckError(f"{path}: held by another call of the agent for over {WAIT:g} s") from None
            else:
                return handle
            self._sleep(0.05)
            waited += 0.05
