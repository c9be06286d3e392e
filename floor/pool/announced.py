"""What clients are told while a switch or a swap keeps a model away: read again when the announcement changes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from floor.box import away, paths
from floor.box.away import SWAP, Away
from floor.box.operation import Operation
from floor.errors import FloorError


class Announced:
    """What was announced on this box, as long as the operation's lease lives."""

    def __init__(self, root: Path, log: Callable[[str], None]) -> None:
        self._root, self._log = root, log
        self._place = paths.under(root, paths.AWAY)
        self._operation = Operation(root)
        self._seen: tuple[int, int] | None = None
        self._models: dict[str, Away] = {}

    def now(self) -> dict[str, str]:
        """Return by model the body of its 503; empty where no switch is under way."""
        seen = self._look()
        if seen != self._seen:
            self._seen = seen
            try:
                self._models = away.read(self._root)
            except FloorError as error:
                self._models = {}
                self._log(str(error))
        if not self._models:
            return {}
        try:
            record = self._operation.read()
        except FloorError:
            return {}  # told by whoever looks for drains
        epoch = int(record["epoch"]) if record is not None and record["live"] else None
        return bodies(away.live(self._models, epoch))

    def _look(self) -> tuple[int, int] | None:
        try:
            stat = self._place.stat()
        except OSError:
            return None
        return stat.st_mtime_ns, stat.st_ino


def bodies(models: Mapping[str, Away]) -> dict[str, str]:
    """Given what counts now, return the bodies in the shape that OpenAI's clients read.

    A time of day, not seconds that are left: the same text holds until the model is back.
    """
    return {
        model: _body(f"{datetime.fromtimestamp(one.until, UTC):%H:%M:%S} UTC", one) for model, one in models.items()
    }


def _body(back: str, one: Away) -> str:
    what = "is getting another build" if one.mode == SWAP else f"is being switched to mode {one.mode}"
    message = f"This model {what} and should answer again at about {back}. Retry after the seconds in Retry-After."
    error = {"message": message, "type": "service_unavailable_error", "param": None, "code": 503}
    return json.dumps({"error": {**error, "expected_at": round(one.until)}})
