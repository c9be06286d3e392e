"""How far a run is: one line that is written over at a terminal, a line at every tenth elsewhere."""

from __future__ import annotations

from typing import TextIO


def remaining(seconds: float) -> str:
    """Given seconds, return them as `2 min 05 s`."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s"


class Progress:
    """Shows on `to`, which is stderr: stdout is the report's."""

    def __init__(self, to: TextIO) -> None:
        self._to = to
        self._over = to.isatty()
        self._tenth = 0

    def show(self, done: int, total: int, left: float) -> None:
        """So many of `total` trials are done; `left` seconds remain, as far as can be told."""
        text = f"{done} of {total} trials, {remaining(left)} left"
        if self._over:
            print(f"\r\x1b[K{text}", end="\n" if done == total else "", file=self._to, flush=True)
        elif done * 10 // total != self._tenth or done == total:
            print(text, file=self._to, flush=True)
        self._tenth = done * 10 // total

    def say(self, line: str) -> None:
        """A line of its own."""
        print(line, file=self._to, flush=True)
