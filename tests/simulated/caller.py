"""A process that runs `floor`: its way to each box, and what happens to it at one of its calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.simulated.box import SimulatedBox


class KilledError(BaseException):
    """The process is gone: nothing that it would still do takes place."""


@dataclass
class Caller:
    """A process. At call number `at`, before it takes effect or after, `then` happens, given the box."""

    pid: int
    at: int | None = None
    after: bool = False
    then: Callable[[str], None] | None = None
    asked: list[str] = field(default_factory=list)  # the box of each call
    dead: bool = False
    stale: bool = False  # it slept while others were at work: it may look, and change nothing any more

    def kill(self) -> None:
        """End this process where it is."""
        self.dead = True
        raise KilledError


class Line:
    """The way of one process to one box. It is a Transport."""

    def __init__(self, box: SimulatedBox, caller: Caller) -> None:
        self.box, self.caller = box, caller

    def call(
        self, name: str, params: Mapping[str, Any] | None = None, *, timeout: float = 30, payload: bytes | None = None
    ) -> Any:
        caller = self.caller
        if caller.dead:
            raise KilledError
        caller.asked.append(self.box.name)
        now = len(caller.asked) == caller.at and caller.then is not None
        if now and not caller.after:
            self._happen()
        before = self.box.changeable() if caller.stale else None
        try:
            answer = self.box.call(name, params, timeout=timeout, payload=payload)
            if name == "operation.take":
                caller.stale, before = False, self.box.changeable()  # it has looked since, and holds the box now
        finally:
            if caller.stale and before is not None and self.box.changeable() != before:
                self.box.world.wrong.append(f"{self.box.name}: {name} of a process that had slept took effect")
            if now and caller.after:
                self._happen()
        return answer

    def stream(self, name: str, params: Mapping[str, Any] | None = None) -> Any:
        return self.box.stream(name, params)

    def _happen(self) -> None:
        assert self.caller.then is not None
        self.caller.then(self.box.name)
