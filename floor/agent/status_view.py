"""What a person wants to see of a box, beside what other boxes go by: mode, memory, what is kept down, its last events.

`GET /box` of the status port: all of `GET /status`, and this.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from floor.agent.status_facts import Facts
from floor.box import away, direct, events, holds, memory, paths
from floor.box.observe import document
from floor.errors import FloorError

FRESH = 1.0  # seconds for which an answer is told again: a person sees no more, and it reads files
EVENTS = 30
WORDS = 300  # characters of an event's text


class View:
    """Given the box's facts, the root of all paths and a monotonic clock, gather and keep what is told."""

    def __init__(self, facts: Facts, root: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._facts, self._root, self._clock = facts, root, clock
        self._gathering = asyncio.Lock()
        self._at = float("-inf")
        self._more: dict[str, Any] = {}

    async def now(self) -> dict[str, Any]:
        """Return it, at most `FRESH` seconds old. Raise FloorError if systemd cannot be asked."""
        status = await self._facts.now()
        async with self._gathering:
            if self._clock() - self._at >= FRESH:
                self._more = await asyncio.to_thread(self._gather, status)
                self._at = self._clock()
        return {**status, **self._more, "problems": [*status["problems"], *self._more["problems"]]}

    def _gather(self, status: Mapping[str, Any]) -> dict[str, Any]:
        problems: list[str] = []

        def told(read: Callable[[], Any]) -> Any:
            try:
                return read()
            except FloorError as error:
                problems.append(str(error))
                return None

        seen = memory.read(self._root)
        record = status.get("operation") or {}
        epoch = record.get("epoch") if record.get("live") else None
        return {
            "mode": _mode(self._root),
            "memory": {"total": seen.total, "available": seen.available},
            "away": told(lambda: _away(epoch, self._root)) or {},
            "holds": told(lambda: {unit: hold.words for unit, hold in holds.read(self._root).items()}) or {},
            "floor": told(lambda: _floor(self._root)),
            "direct": told(lambda: direct.last(self._root)) or [],
            "events": [_event(one) for one in told(lambda: events.newest(EVENTS, self._root)) or ()],
            "problems": problems,
        }


def _mode(root: Path) -> str | None:
    try:
        return paths.under(root, paths.MODE).read_text().strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def _away(epoch: int | None, root: Path) -> dict[str, dict[str, Any]]:
    """The models that an operation at work keeps away, and until when it expects that (unix seconds)."""
    found = away.live(away.read(root), epoch)
    return {model: {"until": one.until, "mode": one.mode} for model, one in found.items()}


def _floor(root: Path) -> float | None:
    """The bytes below which the guard ends an engine; None where no guard reports."""
    found = (document(paths.GUARD_STATE, root) or {}).get("floor")
    return float(found) if isinstance(found, int | float) else None


def _event(event: Mapping[str, Any]) -> dict[str, Any]:
    """The event without its data: those may be long."""
    return {"at": event.get("at"), "who": str(event.get("who")), "text": str(event.get("text"))[:WORDS]}
