"""A process of a box's agent that is asked more than once: to start one is most of what a call costs."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any

MARKER = "@floor "  # what an answer line begins with: a login shell may print before it
BLOCK = 65536  # bytes read or written at once
PATIENCE = 1.0  # seconds for a process to end by itself, then after each stronger word


@dataclass(frozen=True)
class Said:
    """What came of one question: all that was printed and the `answer` in it, whether the process has `taken` it (it
    says so before it does anything), and whether what it prints is `over`."""

    out: str
    answer: dict[str, Any] | None
    taken: bool
    over: bool


class Session:
    """One process. Given what starts it with a file for its error output, which is not a pipe: an ssh that stays as a
    master holds it open long after the call is over."""

    def __init__(self, start: Callable[[IO[bytes]], subprocess.Popen[bytes]]) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 -- closed in `end`
        self._from = 0
        self.given_up = False
        try:
            self.process = start(self._errors)
        except BaseException:
            self._errors.close()
            raise
        for pipe in self._pipes():
            os.set_blocking(pipe.fileno(), False)

    def ask(self, sent: bytes, timeout: float, *, last: bool = False) -> Said:
        """Send a request line and wait for the answer line, or the end of the process, for so many seconds. With `last`
        nothing is sent after it, and the process is waited for. Raise TimeoutExpired."""
        self._from = os.fstat(self._errors.fileno()).st_size
        ends, left, out, looked, taken = time.monotonic() + timeout, memoryview(sent), bytearray(), 0, False
        stdin, stdout = self._pipes()
        with selectors.DefaultSelector() as ready:
            ready.register(stdout, selectors.EVENT_READ)
            ready.register(stdin, selectors.EVENT_WRITE)
            while (seconds := ends - time.monotonic()) > 0:
                keys = {key.fileobj for key, _ in ready.select(seconds)}
                if stdin in keys:
                    left = _send(stdin.fileno(), left)
                    if not left:
                        ready.unregister(stdin)
                        if last:
                            stdin.close()
                if stdout not in keys:
                    continue
                block = os.read(stdout.fileno(), BLOCK)
                out += block
                lines, looked = _lines(out, looked)
                taken = taken or any("taken" in (_marked(line) or {}) for line in lines)
                if not block or (not last and any(parse(line) for line in lines)):
                    text = out.decode(errors="replace")
                    return Said(text, parse(text), taken, over=not block)
        raise subprocess.TimeoutExpired(self.process.args, timeout)

    def gone(self) -> bool:
        """Whether the process has ended, or says nothing more, before it is asked again. What it has printed since its
        last answer belongs to no question."""
        if self.process.poll() is not None:
            return True
        try:
            while os.read(self._pipes()[1].fileno(), BLOCK):
                pass
        except BlockingIOError:
            return False
        return True

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        stdin, stdout = self.process.stdin, self.process.stdout
        if stdin is None or stdout is None:
            raise TypeError("a session is started with pipes")
        return stdin, stdout

    def give_up(self) -> None:
        """End the process at once, while another thread waits for its answer."""
        self.given_up = True
        self.process.kill()

    def close(self) -> None:
        """Let the process end by itself: it is asked nothing more."""
        with suppress(BrokenPipeError):
            self._pipes()[0].close()

    def end(self) -> tuple[int, str]:
        """Leave no process and no open file behind, however the last question ended. Return its exit code, and what it
        has printed to its error output since that question."""
        if self._errors.closed:
            return self.process.returncode, ""
        end(self.process)
        self._errors.seek(self._from)
        said = self._errors.read().decode(errors="replace")
        self._errors.close()
        return self.process.returncode, said


def end_all(sessions: list[Session]) -> None:
    """End these, side by side, and take them from the list."""
    found = [sessions.pop() for _ in range(len(sessions))]
    for one in found:
        one.close()
    for one in found:
        one.end()


def _send(descriptor: int, left: memoryview) -> memoryview:
    """Write what fits now; return what is left. One that is gone reads nothing more: its output tells why."""
    try:
        return left[os.write(descriptor, left[:BLOCK]) :]
    except BlockingIOError:
        return left
    except BrokenPipeError:
        return left[:0]


def _lines(out: bytearray, looked: int) -> tuple[list[str], int]:
    """The whole lines from a place on, and the place behind them."""
    behind = out.rfind(b"\n", looked) + 1
    if not behind:
        return [], looked
    return out[looked:behind].decode(errors="replace").splitlines(), behind


def parse(out: str) -> dict[str, Any] | None:
    """Given all that came back, return the answer in it or None. What a login shell printed before is skipped."""
    for line in reversed(out.splitlines()):
        answer = _marked(line)
        if answer is not None and ("ok" in answer or "error" in answer):
            return answer
    return None


def _marked(line: str) -> dict[str, Any] | None:
    _, mark, text = line.partition(MARKER)  # a banner without an end of line stands before the mark
    if not mark:
        return None
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def end(process: subprocess.Popen[bytes]) -> None:
    """Close a process's pipes, which ends most of them and the far side with them, and see to it that it is gone."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(BrokenPipeError):  # it went before it had read everything
                pipe.close()
    for signal in (None, process.terminate, process.kill):
        if signal is not None:
            signal()
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=PATIENCE)
            return
    process.wait()
