"""The trial log: a line of JSON for each trial that was made, so that a run that was killed goes on where it was."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from floor.errors import UsageError

from ..trial.record import Record

FINISHED = {"finished": True}


def finish(path: Path) -> None:
    """The run is over and its result is kept: nobody may go on from this log."""
    with path.open("ab") as file:
        file.write(json.dumps(FINISHED).encode() + b"\n")


class Log:
    """Opened with what the run is; `done` are the trials that an earlier run with the same file has made.

    Raises UsageError where the file is of another run, or is no trial log.
    """

    def __init__(self, path: Path, about: Mapping[str, Any]) -> None:
        self.done: list[Record] = []
        whole = self._read(path, about) if path.exists() and path.stat().st_size else 0
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab")
        self._file.truncate(whole)  # a line that was cut when the machine went down is made again
        if not whole:
            self._write({"about": dict(about)})

    def _read(self, path: Path, about: Mapping[str, Any]) -> int:
        """Take in what is there; return the length of its whole lines in bytes."""
        text = path.read_bytes()
        whole = text.rfind(b"\n") + 1
        try:
            head, *lines = [json.loads(line) for line in text[:whole].splitlines()]
            was, finished = head["about"], lines[-1:] == [FINISHED]
            self.done = [] if finished else [Record.of(line["trial"]) for line in lines]
        except (ValueError, KeyError, TypeError):
            raise UsageError(f"{path}: is no trial log; name another file with --log") from None
        if finished:
            raise UsageError(f"{path}: is of a run that is over; name another file with --log, or delete it")
        for name in sorted({*about, *was}):
            if was.get(name) != about.get(name):
                raise UsageError(
                    f"{path}: is of another run: {name} was {was.get(name)!r} and is {about.get(name)!r} now; "
                    "name another file with --log, or delete it"
                )
        return whole

    def add(self, record: Record) -> None:
        """Write a trial down, for good."""
        self._write({"trial": record.document()})
        self.done.append(record)

    def _write(self, line: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
