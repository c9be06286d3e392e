"""What mode observe has said that it would do: once, again after an hour or of another engine. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from .decide import CLEAR, PRESSED
from .sample import Sample
from .settings import Settings, floor_of

AGAIN = 3600.0  # seconds after which what still goes on is said again


@dataclass
class Observed:
    """What was said last of memory and of the logs of starts: the unit, and when (monotonic clock)."""

    memory: tuple[str, float] | None = None
    logs: dict[str, float] = field(default_factory=dict)

    def falls_due(self, unit: str, at: float, *, log: bool) -> bool:
        """Given an engine that would be taken down now, for what its `log` announces or for want of memory, return
        whether that is to be said."""
        if log:
            due = at - self.logs.get(unit, float("-inf")) >= AGAIN
            self.logs |= {unit: at} if due else {}
            return due
        due = self.memory is None or self.memory[0] != unit or at - self.memory[1] >= AGAIN
        self.memory = (unit, at) if due else self.memory
        return due

    def look(self, sample: Sample, settings: Settings, starting: Collection[str]) -> None:
        """Given a sample and the units that start, forget what is over: the next time is another one."""
        self.logs = {unit: at for unit, at in self.logs.items() if unit in starting}
        if sample.available is None or sample.total is None:
            return
        if sample.available > floor_of(settings, sample.total) * CLEAR and (sample.full or 0.0) < PRESSED:
            self.memory = None
