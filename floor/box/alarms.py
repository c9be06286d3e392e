"""What guard and watchdog of this box want a person to know now, for `floor status`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from floor.box import direct, holds, paths
from floor.errors import FloorError

FRESH = 300.0  # seconds; the watchdog looks twice a minute, and what it found an hour ago says nothing of now


def read(root: Path, unix: float) -> list[str]:
    """Given the root of all paths and unix seconds, return a line for each thing; none where nobody has anything."""
    try:
        kept = [f"{unit}: {hold.words}" for unit, hold in holds.read(root).items()]
    except FloorError as error:
        kept = [str(error)]
    return [*kept, *_found(root, unix)]


def _found(root: Path, unix: float) -> list[str]:
    try:
        found: dict[str, Any] = json.loads(paths.under(root, paths.WATCHDOG_STATE).read_text())
        loud = {name: one for name, one in found["decisions"].items() if one["alarm"] and one["reason"] != "held"}
        fresh = 0 <= unix - found["at"] < FRESH
        lines = [f"{name}: {one['reason']}: {one['evidence']}" for name, one in loud.items()]
        return [*lines, *map(str, found["foreign"]), *_programs(root)] if fresh else []
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []


def _programs(root: Path) -> list[str]:
    """Programs of this box that go past the proxy, which no firewall sees; strangers are told by its counts."""
    found = (one["address"] for one in direct.last(root) if one["address"].startswith(direct.HERE))
    return [
        f"{address.removeprefix(direct.HERE)} here asks {direct.words(address)} past the proxy; see `floor clients`"
        for address in found
    ]
