"""What an engine says of its own work."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Load:
    """An engine's own counts, summed over its parts. None: the page does not have it, which is never 0.

    `running`, `waiting`: requests now. `usage`: the fullest KV cache, 0..1. `generated`, `prompted`: tokens.
    `steps`: scheduler iterations. `finished`: requests that ended in an answer. `started`: unix time of the process.
    `resident`: names of the models in its memory, of an engine that loads them when they are asked for; `on_card`: the
    part of them that lies in the memory of a card, 0..1.
    """

    running: float | None = None
    waiting: float | None = None
    usage: float | None = None
    generated: float | None = None
    prompted: float | None = None
    steps: float | None = None
    finished: float | None = None
    started: float | None = None
    resident: tuple[str, ...] | None = None
    on_card: float | None = None

    def lacks(self, model: str) -> bool:
        """Whether it tells what it has in memory, and `model` is not among that."""
        return self.resident is not None and model not in self.resident

    @property
    def in_flight(self) -> float | None:
        """Requests that the engine holds; None if either part is unknown."""
        if self.running is None or self.waiting is None:
            return None
        return self.running + self.waiting
