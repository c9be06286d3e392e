"""Holding the boxes for one operation: the epoch is taken everywhere, kept alive, and given back."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from floor.apply.transport import Transport, UnreachableError
from floor.errors import BoxError, BusyError, RefusedError
from floor.operations.caller import caller, dead
from floor.operations.site import Site
from floor.plan.seen import OperationSeen, Seen

SECONDS = 90.0
RENEW_EVERY = 20.0
HURRIED = 3.0  # seconds that a box has to be given back after Ctrl-C: its hold lapses by itself
PATIENCE = 5.0  # seconds that the end of an operation waits for a renewal that is under way


class Lease:
    """One operation's hold on the boxes that take part. A context manager: left, it is released everywhere.

    `lost` is set when this process must do nothing more, and `reason` says why: a box refused to renew, so somebody
    else has taken over, or the operation is over while a call of it is still at work.
    `rebooted` are the boxes that it takes down itself: what ssh says of them meanwhile ends nothing.
    `passing` says that it changes nothing that outlives its hold: however it ends, nothing is left to finish.
    """

    def __init__(
        self, site: Site, seen: Mapping[str, Seen], verb: str, target: Any, config: str, *, passing: bool = False
    ) -> None:
        self.site = site
        self.seen = seen
        self.epoch = 1 + max((s.operation.epoch for s in seen.values() if s.operation), default=0)
        self.record = {"verb": verb, "target": target, "config": config, "by": caller(), "lease": SECONDS}
        self.record |= {"passing": True} if passing else {}
        self.state = "failed"
        self.lost = threading.Event()
        self.reason = ""
        self.rebooted: set[str] = set()
        self._taken: list[str] = []
        self._over = threading.Event()
        self._keeper = threading.Thread(target=self._keep, name="lease", daemon=True)

    def __enter__(self) -> Self:
        try:
            # one box after the other, always in the same order: of two callers one gets the first box and wins
            for box in sorted(self.seen):
                self._take(box)
        except BaseException:
            self._release()
            raise
        self._keeper.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._over.set()
        self._lose("this operation is over")
        self._keeper.join(PATIENCE)
        self._release()

    def _take(self, box: str) -> None:
        held = self.seen[box].operation
        takeover = held.epoch if held and held.live and dead(held.by) else None
        try:
            self.site.boxes[box].call("operation.take", {**self.record, "epoch": self.epoch, "takeover": takeover})
        except BusyError as error:
            raise BusyError(_busy(box, held) if held and held.live else _raced(box, error)) from error
        except RefusedError as error:  # somebody has taken it, and is done, since it was looked at
            raise BusyError(_raced(box, error)) from error
        self._taken.append(box)

    def _keep(self) -> None:
        while not self._over.wait(RENEW_EVERY):
            self.renew()

    def renew(self) -> None:
        """Run the lease of every box from now. A box that is out of reach is asked again the next time."""
        try:
            renewals = self.site.each(self._taken, self._renew)
        except Exception as error:
            # whatever it was, no lease is kept any more: the work must stop
            self._lose(f"the hold on the boxes cannot be kept: {error}")
            return
        for box, answer in renewals.items():
            if box in self.rebooted:
                continue
            if isinstance(answer, BoxError) and not isinstance(answer, UnreachableError):
                self._lose(str(answer))

    def _renew(self, _box: str, transport: Transport) -> None:
        try:
            transport.call("operation.renew", {"epoch": self.epoch})
        except (RefusedError, BusyError) as error:
            self._lose(str(error))

    def _lose(self, reason: str) -> None:
        self.reason = self.reason or reason
        self.lost.set()

    def _release(self) -> None:
        patience = HURRIED if self.state == "interrupted" else 30.0

        def release(_box: str, transport: Transport) -> None:
            try:
                transport.call("operation.release", {"epoch": self.epoch, "state": self.state}, timeout=patience)
            except (RefusedError, BusyError) as error:
                self._lose(str(error))  # taken over meanwhile: the record is no longer ours to end

        # a box that does not answer now keeps a hold that lapses by itself
        self.site.each(self._taken, release)


def _busy(box: str, held: OperationSeen) -> str:
    return (
        f"{box}: {held.who} (pid {held.by.get('pid')}) is at work there: floor {held.verb}, operation {held.epoch}; "
        "wait until it is done, or end that process: its hold lapses within 90 s"
    )


def _raced(box: str, error: Exception) -> str:
    return f"{error}: another operation was quicker on {box}; run the same command again once it is done"
