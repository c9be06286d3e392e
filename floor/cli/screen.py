"""Where the lines of a command go: stdout for a person, stderr beside JSON; progress only to a terminal."""

from __future__ import annotations

import shutil
import sys
import threading

import typer


class Screen:
    """Takes lines of long work, from several threads at once. With `beside` stdout is left to something else."""

    def __init__(self, *, beside: bool = False) -> None:
        self._beside = beside
        self._shown = False
        self._lock = threading.Lock()

    def say(self, line: str) -> None:
        """A line for the person, at once."""
        with self._lock:
            self._clear()
            typer.echo(line, err=self._beside)

    def progress(self, line: str) -> None:
        """A line that only a person at a terminal wants: the next one takes its place."""
        if not sys.stderr.isatty():
            return
        with self._lock:
            self._clear()
            width = shutil.get_terminal_size().columns
            typer.echo(line[: width - 1], err=True, nl=False)
            self._shown = True

    def clear(self) -> None:
        """Leave the place that `progress` wrote to."""
        with self._lock:
            self._clear()

    def _clear(self) -> None:
        if self._shown:
            typer.echo("\r\x1b[K", err=True, nl=False)
            self._shown = False
