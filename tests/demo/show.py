"""The demo as a subprocess: its lines as they come, everything it started, and what is left of that."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Self

import psutil

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 60.0  # seconds; a run takes about ten


class Show:
    """One run of the fast demo. `at` is a text: when a line has it, `then` is done once, with this run."""

    def __init__(self, at: str = "", then: Callable[[Show], None] | None = None, *words: str) -> None:
        environ = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
        self._at, self._then = at, then
        self.lines: list[str] = []
        self.started: set[psutil.Process] = set()
        self.process = subprocess.Popen(
            [sys.executable, "examples/demo.py", *(words or ("--fast",))],
            cwd=ROOT,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=_hear_ctrl_c,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip())
            self._look()
            if self._then is not None and self._at in line:
                then, self._then = self._then, None
                then(self)

    def _look(self) -> None:
        try:
            self.started |= set(psutil.Process(self.process.pid).children(recursive=True))
        except psutil.NoSuchProcess:
            return

    def ended(self) -> Self:
        """Wait for its end; a run that takes too long is ended, and fails."""
        try:
            self.process.wait(LONGEST)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f"no end after {LONGEST:g} s:\n{self.text}") from None
        self._reader.join()
        if self.process.stdout is not None:
            self.process.stdout.close()
        return self

    @property
    def code(self) -> int:
        """The exit code."""
        return self.process.returncode

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def line(self, part: str) -> str:
        """The only line with that text in it."""
        found = [line for line in self.lines if part in line]
        assert len(found) == 1, f"{part!r} stands in {len(found)} lines of:\n{self.text}"
        return found[0]

    def left(self) -> list[str]:
        """What it started and is still there."""
        return [str(one) for one in self.started if one.is_running()]

    def kill(self) -> None:
        """End what a test that failed has left."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for one in self.started:
            with suppress(psutil.NoSuchProcess):
                one.kill()


def _hear_ctrl_c() -> None:
    """A test runner in the background ignores SIGINT, and its children with it; a terminal's do not."""
    import signal

    signal.signal(signal.SIGINT, signal.default_int_handler)


def folders() -> set[str]:
    """The folders of demos that there are now."""
    return {path.name for path in Path("/tmp").glob("floor-demo-*")}
