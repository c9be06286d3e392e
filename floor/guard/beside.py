"""One slow question at a time, asked beside a loop that must not wait for its answer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from floor.errors import FloorError

T = TypeVar("T")
Begin = Callable[[Callable[[], None]], None]
STACK = 512 * 1024  # bytes, all of them locked into memory; by default 8 MiB


def in_thread(work: Callable[[], None]) -> None:
    """Run `work` in a thread of its own, which holds up no end of the process."""
    before = threading.stack_size(STACK)
    try:
        threading.Thread(target=work, daemon=True).start()
    finally:
        threading.stack_size(before)


class Beside(Generic[T]):
    """Given a question and how it is begun (tests: at once). The loop calls `go` and `take`, and nothing else waits."""

    def __init__(self, ask: Callable[[], T], begin: Begin = in_thread) -> None:
        self._ask, self._begin = ask, begin
        self._busy = False
        self._answers: list[T | FloorError] = []

    @property
    def busy(self) -> bool:
        """Whether an answer is waited for."""
        return self._busy

    def go(self) -> bool:
        """Ask, unless the last time has no answer yet. Return whether it was asked."""
        if self._busy:
            return False
        self._busy = True
        try:
            self._begin(self._work)
        except (RuntimeError, MemoryError) as error:  # short of memory there may be no room for a thread
            self._answers.append(FloorError(f"nobody could be asked: {error}"))
            self._busy = False
        return True

    def take(self) -> T | None:
        """Return the answer that has come since the last time, None where none has. Raise FloorError, with what was
        wrong, where the question failed: the loop goes on without that answer."""
        if not self._answers:
            return None
        answer = self._answers.pop(0)
        if isinstance(answer, FloorError):
            raise answer
        return answer

    def _work(self) -> None:
        try:
            self._answers.append(self._ask())
        except FloorError as error:
            self._answers.append(error)
        except Exception as error:  # whatever it is: without a guard a box can freeze
            self._answers.append(FloorError(f"an answer cannot be made sense of: {type(error).__name__}: {error}"))
        finally:
            self._busy = False
