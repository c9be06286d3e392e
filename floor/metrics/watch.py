"""Puts together what copies, boxes and the pool tell, for people who look on: see `live` for the document."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from floor.box import files, paths
from floor.box.locked import mine
from floor.errors import FloorError

from . import history, live
from .boxes import Boxes
from .copies import HOLD, Copy
from .history import History
from .merge import Part
from .normalise import figures
from .recent import Point, Recent, of_model

FRESH = 0.5  # seconds for which a document is shown again, however many look on
KEEP_EVERY = 60.0


class Watch:
    """Given this box's name, the copies that somebody looks at every `interval` seconds, the boxes, the root of all
    paths and the clocks."""

    def __init__(
        self,
        box: str,
        copies: list[Copy],
        interval: float,
        boxes: Boxes,
        root: Path,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._box, self._copies, self._boxes, self._root = box, copies, boxes, root
        self._hold = HOLD * interval + 3.0
        self._clock, self._wall = clock, wall
        self._recent = {copy.backend.name: Recent() for copy in copies}
        self._made: tuple[float, dict[str, Any]] = (float("-inf"), {})
        self._hour = self._former()

    def take(self, copy: Copy) -> None:
        """Remember the figures that a look at a copy brought, as the copy itself counts them: its page is large."""
        if copy.latest.up and copy.read_at is not None:
            one = copy.backend
            told = copy.told or figures(one.dialect, copy.page)
            part = Part(one.name, one.box, one.model, {}, told)
            self._recent[one.name].add(Point(copy.read_at, part), copy.past.resets)

    async def run(self, stop: asyncio.Event) -> None:
        """Look at the boxes, and keep the last hour, until `stop`."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._boxes.run(stop))
            group.create_task(self._keep(stop))

    def document(self) -> dict[str, Any]:
        """The site as it is now."""
        now = self._clock()
        if now - self._made[0] >= FRESH:
            looks = {one.backend.name: "" if one.latest.up else one.latest.detail for one in self._copies}
            found = live.compose(
                self._wall(), now, self._box, self._boxes.seen, self._pool(), self._figures(now), looks
            )
            self._made = (now, found)
        return self._made[1]

    def hour(self) -> dict[str, Any]:
        """The last hour, as charts draw it."""
        return self._hour.as_json()

    def _figures(self, now: float) -> dict[str, Mapping[str, Any]]:
        found: dict[str, Mapping[str, Any]] = {
            f"copy:{name}": recent.told(now, self._hold) for name, recent in self._recent.items()
        }
        for model in dict.fromkeys(copy.backend.model for copy in self._copies):
            mine = [self._recent[one.backend.name] for one in self._copies if one.backend.model == model]
            found[f"model:{model}"] = of_model(model, mine, now, self._hold)
        return found

    def _pool(self) -> dict[str, Any] | None:
        """What the pool of this box reported last."""
        try:
            found = json.loads(paths.under(self._root, paths.POOL_STATE).read_text())
        except (OSError, ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) and isinstance(found.get("pools"), dict) else None

    async def _keep(self, stop: asyncio.Event) -> None:
        kept = self._clock()
        try:
            while not stop.is_set():
                self._hour.add(self._wall(), self._figures(self._clock()))
                if self._clock() - kept >= KEEP_EVERY:
                    self._write()
                    kept = self._clock()
                with suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), history.EVERY / 3)
        finally:
            self._write()

    def _write(self) -> None:
        place = paths.under(self._root, paths.METRICS_HOUR)
        if place.parent.is_dir():  # who only looks on for a while keeps nothing
            with suppress(FloorError):
                files.write(paths.METRICS_HOUR, json.dumps(self.hour()) + "\n", owner=mine(), root=self._root)

    def _former(self) -> History:
        try:
            return history.restore(paths.under(self._root, paths.METRICS_HOUR).read_text())
        except (OSError, UnicodeDecodeError):
            return History()
