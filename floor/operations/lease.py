"""Holding the boxes for one operation: the epoch is taken everywhere, kept alive, and given back."""

from __future__ import annotations

import getpass
import os
import socket
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import psutil

from floor.apply.transport import UnreachableError
from floor.errors import BoxError, BusyError, FloorError, RefusedError
from floor.operations.site import Site
from floor.plan.seen import OperationSeen, Seen

SECONDS = 90.0
RENEW_EVERY = 20.0


def caller() -> dict[str, Any]:
    """Who asks: user, host, process id and when that process started (unix seconds)."""
    return {
        "user": getpass.getuser(),
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "started": psutil.Process().create_time(),
    }


def dead(by: Mapping[str, Any]) -> bool:
    """Whether the holder was a process of this user on this machine that is no longer there."""
    if (by.get("user"), by.get("host")) != (getpass.getuser(), socket.gethostname()):
        return False
    try:
        return abs(psutil.Process(int(by["pid"])).create_time() - float(by["started"])) > 1.0
    except (psutil.NoSuchProcess, KeyError, TypeError, ValueError):
        return True


class Lease:
    """One operation's hold on the boxes that take part. A context manager: left, it is released everywhere.

    `lost` is set when a box refused to renew: somebody else has taken over, and this process must do nothing more.
    """

    def __init__(self, site: Site, seen: Mapping[str, Seen], verb: str, target: Any, config: str) -> None:
        self.site = site
        self.seen = seen
        self.epoch = 1 + max((s.operation.epoch for s in seen.values() if s.operation), default=0)
        self.record = {"verb": verb, "target": target, "config": config, "by": caller(), "lease": SECONDS}
        self.state = "failed"
        self.lost = threading.Event()
        self._taken: list[str] = []
        self._over = threading.Event()
        self._keeper = threading.Thread(target=self._keep, name="lease", daemon=True)

    def __enter__(self) -> Self:
        try:
            # one box after the other, always in the same order: of two callers one gets the first box and wins
            for box in sorted(self.seen):
                self._take(box)
        except FloorError:
            self._release()
            raise
        self._keeper.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._over.set()
        self._keeper.join()
        self._release()

    def _take(self, box: str) -> None:
        held = self.seen[box].operation
        takeover = held.epoch if held and held.live and dead(held.by) else None
        try:
            self.site.boxes[box].call("operation.take", {**self.record, "epoch": self.epoch, "takeover": takeover})
        except BusyError as error:
            raise BusyError(_busy(box, held) if held else str(error)) from error
        self._taken.append(box)

    def _keep(self) -> None:
        while not self._over.wait(RENEW_EVERY):
            renewals = self.site.each(self._taken, self._renew)
            if any(
                isinstance(answer, BoxError) and not isinstance(answer, UnreachableError)
                for answer in renewals.values()
            ):
                self.lost.set()

    def _renew(self, _box: str, transport: Any) -> None:
        try:
            transport.call("operation.renew", {"epoch": self.epoch})
        except (RefusedError, BusyError):
            self.lost.set()

    def _release(self) -> None:
        def release(_box: str, transport: Any) -> None:
            try:
                transport.call("operation.release", {"epoch": self.epoch, "state": self.state})
            except (RefusedError, BusyError):
                self.lost.set()  # taken over meanwhile: the record is no longer ours to end

        self.site.each(self._taken, release)


def _busy(box: str, held: OperationSeen) -> str:
    return (
        f"{box}: {held.who} (pid {held.by.get('pid')}) is at work there: floor {held.verb}, operation {held.epoch}; "
        "wait until it is done, or end that process: its hold lapses within 90 s"
    )
