"""What must not hold up a loop and may hang, as a disk: done beside it, in the order in which it came."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from floor.errors import FloorError

from .beside import Begin, in_thread

Job = Callable[[], None]


class Later:
    """Given how work is begun (tests: at once). At most one thread at a time does the jobs, one after the other."""

    def __init__(self, begin: Begin = in_thread) -> None:
        self._begin = begin
        self._lock = threading.Lock()  # held for a moment, never while a job runs
        self._jobs: list[tuple[str, Job]] = []
        self._wrong: list[str] = []
        self._busy = False

    def do(self, job: Job, name: str = "") -> None:
        """Have a job done. It takes the place of one of the same `name` that was not begun."""
        with self._lock:
            if name:
                self._jobs = [one for one in self._jobs if one[0] != name]
            self._jobs.append((name, job))
        self.go()

    def go(self) -> None:
        """Begin what waits, if nothing runs: there may have been no memory for a thread before."""
        with self._lock:
            if self._busy or not self._jobs:
                return
            self._busy = True
        try:
            self._begin(self._work)
        except (RuntimeError, MemoryError):
            self._busy = False

    def wrong(self) -> list[str]:
        """Return in words what has failed since the last time."""
        found, self._wrong = self._wrong, []
        return found

    def finish(self, seconds: float) -> None:
        """Wait until all is done, at most so long."""
        ends = time.monotonic() + seconds
        while self._busy and time.monotonic() < ends:
            time.sleep(0.01)

    def _work(self) -> None:
        while job := self._next():
            try:
                job()
            except FloorError as error:
                self._wrong.append(str(error))
            except Exception as error:  # whatever it is: without a guard a box can freeze
                self._wrong.append(f"cannot be written down: {type(error).__name__}: {error}")

    def _next(self) -> Job | None:
        with self._lock:
            if self._jobs:
                return self._jobs.pop(0)[1]
            self._busy = False
            return None
