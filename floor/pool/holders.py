"""Who holds which backend out now: the drains of this box that count, read again when their file changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from floor.box import drains, paths
from floor.box.operation import Operation
from floor.errors import FloorError

from .missed import Told, missed


class Holders:
    """The holders by backend. `before` is what the pool knew in its former run, for a file that cannot be read: a
    decision that somebody took must not be undone by a bad file."""

    def __init__(self, root: Path, before: Mapping[str, tuple[str, ...]], log: Callable[[str], None]) -> None:
        self._root, self._log = root, log
        self._place = paths.under(root, paths.DRAINS)
        self._operation = Operation(root)
        self._seen: tuple[int, int, int] | None = (0, 0, 0)
        self._drains: drains.Drains | None = None
        self._before = dict(before)
        self._said: dict[str, str] = {}

    def now(self) -> Mapping[str, tuple[str, ...]]:
        """Return the holders that count now; an operation's count while this box's record says that it is live."""
        seen = self._look()
        if seen != self._seen or self._drains is None:
            self._seen = seen
            self._read()
        if self._drains is None:
            return self._before
        if not self._drains:
            return {}
        return drains.held_by(drains.live(self._drains, self._epoch()))

    def adopt(self, told: Iterable[Told]) -> list[str]:
        """Given what other boxes tell, hold what this box missed from now on. Return a line for each that is new."""
        if self._drains is None or not any(one.absences for one in told):
            return []
        try:
            record = self._operation.read()
            new = missed(told, 0 if record is None else int(record["epoch"]), self._drains)
            for backend, holder in new:
                drains.add(backend, holder, None, at=time.time(), root=self._root)
        except FloorError as error:
            self._say("missed", f"{error}. What operations decided without this box cannot be followed.")
            return []
        return [
            f"{backend} stays out until a deployment: {holder}, as an operation found without this box"
            for backend, holder in new
        ]

    def _look(self) -> tuple[int, int, int] | None:
        try:
            stat = self._place.stat()
        except OSError:
            return None
        return stat.st_mtime_ns, stat.st_ino, stat.st_size

    def _read(self) -> None:
        try:
            self._drains = drains.read(self._root)
        except FloorError as error:
            self._say("drains", f"{error}. What was drained before stays drained.")
        else:
            self._say("drains", "")

    def _epoch(self) -> int | None:
        """Return the epoch of the operation that is live on this box; a record that cannot be read is of none."""
        if not any(drain.epoch is not None for held in (self._drains or {}).values() for drain in held):
            return None
        try:
            record = self._operation.read()
        except FloorError as error:
            self._say("operation", f"{error}. Until then no operation's drain counts.")
            return None
        self._say("operation", "")
        return int(record["epoch"]) if record is not None and record["live"] else None

    def _say(self, what: str, words: str) -> None:
        if words and words != self._said.get(what):
            self._log(words)
        self._said[what] = words
