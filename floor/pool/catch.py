"""While another proxy box hands the shared address over, this one sends on what belongs to it (floor.box.handover)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from floor.box import address, handover, paths
from floor.errors import FloorError

AGAIN = 5.0  # seconds until what failed is tried again


class Catch:
    """Given the root of all paths and where to log, loads the rules for it when a box asks, and takes them away."""

    def __init__(
        self,
        root: Path,
        log: Callable[[str], None],
        begin: Callable[[address.Settings, str], None] = handover.catch,
        end: Callable[[], None] = handover.end_catch,
    ) -> None:
        self._root, self._log, self._begin, self._end = root, log, begin, end
        self._present = handover.told(root)["catches"]  # a service that was killed may have left it
        self._failed = float("-inf")

    async def look(self, statuses: Sequence[Mapping[str, Any] | None], now: float) -> None:
        """Given what the boxes tell of the address (None: not of late) and the monotonic time, do what is due."""
        if not any(statuses) and self._present is None:
            return
        leaving = handover.told(self._root)["leaves"] is not None
        wanted = handover.leaver(statuses, leaving=leaving)
        if wanted == self._present or now - self._failed < AGAIN:
            return
        try:
            await asyncio.to_thread(self._bring, wanted)
        except FloorError as error:
            self._failed = now
            self._log(f"the shared address: {error}")
            return
        self._present = wanted
        who = f"sends on what belongs to {wanted}, which leaves" if wanted else "sends nothing on any more"
        self._log(f"the shared address: {who}")

    def _bring(self, wanted: str | None) -> None:
        if wanted is None:
            handover.mark(paths.ADDRESS_CATCHES, None, self._root)
            self._end()
            return
        self._begin(address.load(self._root), wanted)
        handover.mark(paths.ADDRESS_CATCHES, wanted, self._root)
