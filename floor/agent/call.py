"""One call as its function sees it: parameters, and everything of the outside world that it may touch."""

from __future__ import annotations

import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from floor.agent.params import Params
from floor.box import command, events, paths
from floor.box.operation import Operation

POLL = 0.2  # seconds between two looks of a call that waits
SOON = 0.05  # and after the first one: what ends soon is not waited for much longer than it takes


@dataclass
class Call:
    """`root` is where the box's files lie, `stdin` holds the bytes that follow the request line."""

    params: Params
    root: Path = paths.ROOT
    stdin: BinaryIO = field(default_factory=lambda: sys.stdin.buffer)
    stdout: BinaryIO = field(default_factory=lambda: sys.stdout.buffer)
    run: command.Run = command.run
    clock: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep

    @property
    def operation(self) -> Operation:
        return Operation(self.root)

    @contextmanager
    def work(self) -> Iterator[None]:
        """Hold the box for a change: refused unless the call's `epoch` holds it; its lease runs from now again."""
        with self.operation.work(self.params.whole("epoch", 1)):
            yield

    @contextmanager
    def work_if_named(self) -> Iterator[None]:
        """As `work` where the call names an epoch; without one the box must not be held by anybody."""
        if self.params.maybe_whole("epoch") is not None:
            with self.work():
                yield
            return
        with self.operation.idle():
            yield

    def note(self) -> None:
        """Write down the `event` that came with the call, {text, data}, if one did, before the call does anything.

        It is told as of who holds the box under the call's epoch. Raise HeldError where another one does.
        """
        if "event" not in self.params.values:
            return
        told = Params(self.params.call, self.params.mapping("event"))
        by = self.operation.renew(self.params.whole("epoch", 1))["by"]
        who = f"{by['user']}@{by['host']}" if by.get("user") else "floor"
        events.append(who, told.text("text"), told.mapping("data"), at=self.wall(), root=self.root)

    def until(self, look: Callable[[], tuple[bool, Any]], pause: float = SOON) -> Any:
        """Call `look` until its first value is true or the call's time is over, and return its second value. The first
        `pause` between two looks grows up to `POLL`."""
        ends = self.clock() + self.params.timeout()
        while True:
            over, seen = look()
            if over or self.clock() >= ends:
                return seen
            self.sleep(pause)
            pause = min(POLL, 1.3 * pause)


@dataclass(frozen=True)
class Stream:
    """An answer that goes on after its line with what a program prints; `follow`: until the caller closes stdin."""

    argv: Sequence[str]
    follow: bool

    def pump(self, stdin: BinaryIO, stdout: BinaryIO) -> None:
        """Run the program with its output to the caller. Without `follow` it ends by itself."""
        with subprocess.Popen(list(self.argv), stdin=subprocess.DEVNULL, stdout=stdout) as program:
            while self.follow and program.poll() is None:
                # A connection that is gone closes stdin; journalctl alone would only notice at its next line.
                if select.select([stdin], [], [], POLL)[0] and not stdin.read(1):
                    program.terminate()
                    return
