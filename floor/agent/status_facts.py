"""What a box tells others of itself, gathered anew at most a few times a second however many ask."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from floor.box import drains, units
from floor.box.operation import Operation, now
from floor.errors import FloorError

# Seconds that facts are told again for. `systemctl show` takes 10 ms and each proxy asks twice a second: however many
# proxies there are, it runs twice a second too.
FRESH = 0.45


class Facts:
    """Given the units to tell of, the root of all paths and a monotonic clock, gather and keep the facts."""

    def __init__(
        self,
        names: Sequence[str],
        root: Path,
        clock: Callable[[], float],
        show: Callable[[Sequence[str]], dict[str, units.UnitFacts]] = units.show,
    ) -> None:
        self._names, self._root, self._clock, self._show = tuple(names), root, clock, show
        self._gathering = asyncio.Lock()
        self._at = float("-inf")
        self._facts: dict[str, Any] = {}

    async def now(self) -> dict[str, Any]:
        """Return the facts, at most `FRESH` seconds old. Raise FloorError if systemd cannot be asked.

        Who asks while they are gathered waits for the same answer.
        """
        async with self._gathering:
            if self._clock() - self._at >= FRESH:
                self._facts = await asyncio.to_thread(self._gather)
                self._at = self._clock()
            return self._facts

    def _gather(self) -> dict[str, Any]:
        clock = now()
        problems: list[str] = []
        facts: dict[str, Any] = {
            "boot_id": clock.boot,
            "at": time.time(),
            "monotonic": time.monotonic(),
            "units": {name: one.as_json() for name, one in self._show(self._names).items()},
            "problems": problems,
        }
        for what, read in {"drains": self._drains, "operation": self._operation}.items():
            try:
                facts[what] = read()
            except FloorError as error:  # the units are told all the same: other boxes' pools need them
                facts[what] = None
                problems.append(str(error))
        return facts

    def _drains(self) -> dict[str, Any]:
        return drains.as_json(drains.read(self._root))

    def _operation(self) -> dict[str, Any] | None:
        record = Operation(self._root).read()
        return None if record is None else {key: record.get(key) for key in ("epoch", "verb", "state", "live")}
