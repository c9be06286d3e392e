"""The memory of this box at one moment. Data alone: deciding is elsewhere."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Engine:
    """One engine that has processes. `starting`: its unit is not active yet; `waits`: what runs is not the engine yet,
    but what its unit does before (it waits for room, or at a group's gate), which holds nothing.

    `memory` is what it holds in bytes, on cards and off them (None: not known), `since` the monotonic clock when it
    began.
    """

    unit: str
    starting: bool = False
    memory: int | None = None
    since: float = 0.0
    waits: bool = False


@dataclass(frozen=True)
class Sample:
    """`at` is the monotonic clock, `total` and `available` bytes, `full` the share of the last ten seconds (0 to 100)
    in which all tasks waited for memory (PSI `full avg10`). None is not known, which is never 0."""

    at: float
    total: int | None
    available: int | None
    full: float | None = None
    engines: tuple[Engine, ...] = ()
