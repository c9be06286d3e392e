"""What a box tells others of itself, gathered anew at most a few times a second however many ask."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from floor.box import drains, handover, leaving, parts, paths, units
from floor.box.observe import document
from floor.box.operation import Operation, now
from floor.errors import FloorError

# Seconds that what systemd said is told again for. `systemctl show` takes 10 ms and each proxy asks twice a second:
# however many proxies there are, it runs twice a second too.
FRESH = 0.45
# Seconds for what lies in files: a copy that leaves is told of at once, and waits for nobody longer than it must. And
# for systemd while a unit comes or goes, or a part has come to its gate since: others wait for just that.
QUICK = 0.1
LOOKS = 300.0  # seconds after which a watchdog, which looks every 30, tells nobody any more
MOVING = ("activating", "deactivating")
SETTLED = 60.0  # seconds after the last change, when it is no longer asked more often: a gate may wait for hours

Show = Callable[[Sequence[str]], dict[str, units.UnitFacts]]


def stopping() -> bool:
    """Whether systemd is taking this machine down. Raise FloorError if it cannot be asked."""
    asked = ["systemctl", "show", "--property=SystemState", "--value"]
    return units.run_show(asked, units.SHOW_TIMEOUT).strip() == "stopping"


@dataclass(frozen=True)
class Part:
    """A part of a group that is told of: its model, whether it is the head or a worker, and its unit."""

    model: str
    part: str
    unit: str


class Facts:
    """Given the units and parts to tell of, the root of all paths and a monotonic clock, gather and keep the facts."""

    def __init__(
        self,
        names: Sequence[str],
        root: Path,
        clock: Callable[[], float],
        show: Show = units.show,
        stopping: Callable[[], bool] = stopping,
        groups: Sequence[Part] = (),
    ) -> None:
        self._groups = tuple(groups)
        self._names, self._root, self._clock, self._show, self._stopping = tuple(names), root, clock, show, stopping
        self._gathering = asyncio.Lock()
        self._asked = self._at = float("-inf")
        self._units: dict[str, units.UnitFacts] = {}
        self._going = self._moving = False
        self._states: dict[str, tuple[str, str, str]] = {}
        self._marked: tuple[int, ...] = ()
        self._changed = float("-inf")
        self._facts: dict[str, Any] = {}

    async def now(self) -> dict[str, Any]:
        """Return the facts, at most `FRESH` seconds old. Raise FloorError if systemd cannot be asked.

        Who asks while they are gathered waits for the same answer.
        """
        async with self._gathering:
            marked = self._marks()
            moving = self._moving and self._clock() - self._changed < SETTLED
            fresh = QUICK if moving or marked != self._marked else FRESH
            if self._clock() - self._asked >= fresh:
                await asyncio.to_thread(self._ask)
                states = {name: (one.active, one.sub, one.invocation) for name, one in self._units.items()}
                self._asked, self._at = self._clock(), float("-inf")
                if (states, marked) != (self._states, self._marked):
                    self._states, self._marked, self._changed = states, marked, self._asked
            if self._clock() - self._at >= QUICK:
                self._facts = await asyncio.to_thread(self._gather)
                self._at = self._clock()
            return self._facts

    def _ask(self) -> None:
        self._units = self._show(self._names)
        self._moving = any(one.active in MOVING for one in self._units.values())
        # At a shutdown some unit of ours goes first, so while none goes systemd need not be asked a second time.
        self._going = any(one.active == "deactivating" for one in self._units.values()) and self._stopping()

    def _marks(self) -> tuple[int, ...]:
        """When the gate of each part last wrote down how far it is."""
        return tuple(parts.written(one.model, self._root) for one in self._groups)

    def _gather(self) -> dict[str, Any]:
        clock = now()
        problems: list[str] = []
        facts: dict[str, Any] = {
            "boot_id": clock.boot,
            "at": time.time(),
            "monotonic": time.monotonic(),
            "stopping": self._going,
            "units": {name: one.as_json() for name, one in self._units.items()},
            "leaving": self._leaving(),
            "groups": self._parts(),
            "address": handover.told(self._root),
            "problems": problems,
        }
        reads = {"drains": self._drains, "operation": self._operation, "pool": self._pool, "told": self._told}
        for what, read in reads.items():
            try:
                facts[what] = read()
            except FloorError as error:  # the units are told all the same: other boxes' pools need them
                facts[what] = None
                problems.append(str(error))
        return facts

    def _leaving(self) -> dict[str, float]:
        """The units that finish what they have before they are stopped, and since when (unix seconds)."""
        marks = leaving.read(paths.LEAVING, self._root)
        there = {name: one for name, one in self._units.items() if one.active not in ("inactive", "failed")}
        return {
            name: mark.at for name, mark in marks.items() if name in there and there[name].invocation == mark.invocation
        }

    def _parts(self) -> dict[str, Any]:
        """How far each part of a group on this box is, by model."""
        return {
            one.model: parts.told(one.part, self._units[one.unit], parts.get(one.model, self._root)).as_json()
            for one in self._groups
        }

    def _drains(self) -> dict[str, Any]:
        return drains.as_json(drains.read(self._root))

    def _operation(self) -> dict[str, Any] | None:
        record = Operation(self._root).read()
        if record is None:
            return None
        by = {key: record["by"].get(key) for key in ("user", "host", "pid")}
        return {"by": by, **{key: record.get(key) for key in ("epoch", "verb", "state", "live")}}

    def _pool(self) -> dict[str, Any] | None:
        """What the pool of this box last said of each backend; `age` is how many seconds ago."""
        state = document(paths.POOL_STATE, self._root)
        return None if state is None else pooled(state, time.time())

    def _told(self) -> list[str]:
        return told(document(paths.WATCHDOG_STATE, self._root), time.time())


def told(state: Mapping[str, Any] | None, at: float) -> list[str]:
    """Given the state that the watchdog wrote and the unix time, return the keys of what people were told from here and
    still is the case; nothing of a watchdog that looks no more, or whose state is none."""
    try:
        if state is None or not 0 <= at - state["at"] < LOOKS:
            return []
        return sorted(key for key, one in state["told"]["open"].items() if one["told"] is not None)
    except (KeyError, TypeError, AttributeError):
        return []


def pooled(state: Mapping[str, Any], at: float) -> dict[str, Any]:
    """Given the state that a pool wrote and the unix time, return what others may know of it. Raise FloorError."""
    try:
        told = {
            name: {
                "member": name in pool["members"],
                "acknowledged": bool(state["acknowledged"].get(name)),
                "reason": backend["reason"],
            }
            for pool in state["pools"].values()
            for name, backend in pool["backends"].items()
        }
        return {"age": max(0.0, at - state["at"]), "backends": told}
    except (KeyError, TypeError, AttributeError) as error:
        raise FloorError(f"{paths.POOL_STATE}: is not a report of floor-pool ({error!r:.80})") from error
