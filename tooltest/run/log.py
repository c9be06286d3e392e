"""The trial log: a line of JSON for each trial that was made, so that a run that was killed goes on where it was."""

from __future__ import annotations

import fcntl
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from floor.errors import FloorError, UsageError

from ..trial.record import Record
from ..trial.recorded import unanswered

FINISHED = {"finished": True}


def finish(path: Path) -> None:
    """The run is over and its result is kept: nobody may go on from this log. Raises FloorError where it cannot be
    written."""
    try:
        with path.open("ab") as file:
            file.write(json.dumps(FINISHED).encode() + b"\n")
    except OSError as error:
        raise _unwritten(path, error) from None


class Log:
    """Opened with what the run is, and held against another run; `done` are the trials that an earlier run with the
    same file has made.

    Those without an answer at its end are none of them: the endpoint had gone, and they are made again; with `again`
    all without an answer are. Raises UsageError where the file is of another run, of one at work, or no trial log;
    FloorError where it cannot be written.
    """

    def __init__(self, path: Path, about: Mapping[str, Any], *, again: bool = False) -> None:
        self.path, self.done, self._again = path, list[Record](), again
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Without a buffer: what a full disk does not take would be tried again when the file is closed.
            self._file = path.open("a+b", buffering=0)
        except OSError as error:
            raise UsageError(f"{path}: cannot be opened: {error.strerror}; name another file with --log") from None
        try:
            self._begin(about)
        except OSError as error:
            self._file.close()
            raise _unwritten(path, error) from None
        except BaseException:
            self._file.close()
            raise

    def _begin(self, about: Mapping[str, Any]) -> None:
        if not stat.S_ISREG(os.fstat(self._file.fileno()).st_mode):
            raise UsageError(f"{self.path}: is no plain file; name another one with --log")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"{self.path}: another run is at work with it; name another file with --log") from None
        self._file.seek(0)
        text = self._file.read()
        whole = self._read(text, about) if text else 0
        if whole < len(text):
            self._file.truncate(whole)  # a line that was cut when the machine went down is made again
        if not whole:
            self._write({"about": dict(about)})

    def _read(self, text: bytes, about: Mapping[str, Any]) -> int:
        """Take in what is there; return the length in bytes of what counts."""
        try:
            head, *lines = text[: text.rfind(b"\n") + 1].splitlines(keepends=True)
            was, told = json.loads(head)["about"], [json.loads(line) for line in lines]
            finished = told[-1:] == [FINISHED]
            self.done = [] if finished else [Record.of(line["trial"]) for line in told]
        except (ValueError, KeyError, TypeError):
            raise UsageError(f"{self.path}: is no trial log; name another file with --log") from None
        if finished:
            raise UsageError(f"{self.path}: is of a run that is over; name another file with --log, or delete it")
        for name in sorted({*about, *was}):
            if was.get(name) != about.get(name):
                raise UsageError(
                    f"{self.path}: is of another run: {name} was {was.get(name)!r} and is {about.get(name)!r} now; "
                    "name another file with --log, or delete it"
                )
        while self.done and unanswered(self.done[-1]):
            self.done.pop()
        length = len(head) + sum(map(len, lines[: len(self.done)]))
        latest = {(one.scenario, one.trial): one for one in self.done}
        self.done = [one for one in latest.values() if not (self._again and unanswered(one))]
        return length

    def add(self, record: Record) -> None:
        """Write a trial down, for good. Raises FloorError where it cannot be written."""
        self._write({"trial": record.document()})
        self.done.append(record)

    def _write(self, line: Mapping[str, Any]) -> None:
        try:
            data = json.dumps(line, ensure_ascii=False).encode() + b"\n"
            while data:
                data = data[self._file.write(data) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            raise _unwritten(self.path, error) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def _unwritten(path: Path, error: OSError) -> FloorError:
    return FloorError(f"{path}: cannot be written: {error.strerror}; make room, and the same command goes on")
