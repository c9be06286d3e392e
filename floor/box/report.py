"""How far a task is, for whoever asks: counted by several threads, written down twice a second."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any, Self

EVERY = 0.5  # seconds


class Report:
    """`total` and `done` are bytes; `notes` are lines for the person. Use it as a context manager."""

    def __init__(self, place: Path, what: str) -> None:
        self.place, self.what = place, what
        self.total = self.done = 0
        self.notes: list[str] = []
        self._result: dict[str, Any] = {"state": "working"}
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._keep, daemon=True)

    def add(self, size: int) -> None:
        """Count bytes that have come, or, below zero, that are thrown away."""
        with self._lock:
            self.done += size

    def note(self, line: str) -> None:
        """Tell the person something that is worth knowing whatever comes of it."""
        with self._lock:
            self.notes.append(line)

    def say(self, what: str) -> None:
        """What is done now."""
        with self._lock:
            self.what = what

    def end(self, state: str, **told: Any) -> None:
        """Write down what came of it."""
        with self._lock:
            self._result = {"state": state, **told}
        self._write()

    def show(self, **told: Any) -> None:
        """Add something that the caller waits for while the work goes on."""
        with self._lock:
            self._result = {**self._result, **told}
        self._write()

    def __enter__(self) -> Self:
        self._write()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._write()

    def _keep(self) -> None:
        while not self._over.wait(EVERY):
            self._write()

    def _write(self) -> None:
        with self._lock:
            told = {
                "done": self.done,
                "total": self.total,
                "what": self.what,
                "notes": self.notes[-50:],
                "pid": os.getpid(),
                **self._result,
            }
            new = self.place.with_name(f"{self.place.name}.new")
            new.write_text(json.dumps(told))
            new.replace(self.place)
