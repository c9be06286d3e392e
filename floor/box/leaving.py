"""Marks of copies that are about to be stopped, in /run/floor: they end with the boot, and with the start they are of.

A mark names the start that it is of (systemd's InvocationID), so one that was left behind says nothing of a later one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from floor.box import files, paths
from floor.box.locked import mine


@dataclass(frozen=True)
class Mark:
    """The start of a unit that is meant, and when it was marked: unix seconds to show, monotonic ones to decide by."""

    invocation: str
    at: float
    monotonic: float


def put(folder: Path, unit: str, mark: Mark, root: Path = paths.ROOT) -> None:
    """Given paths.LEAVING or paths.DRAINED, mark a unit. Raise FloorError if it cannot be written."""
    text = json.dumps({"invocation": mark.invocation, "at": mark.at, "monotonic": mark.monotonic})
    files.write(folder / unit, f"{text}\n", owner=mine(), root=root)


def drop(folder: Path, unit: str, root: Path = paths.ROOT) -> None:
    """Given paths.LEAVING or paths.DRAINED, take the mark of a unit away; one that is gone is fine."""
    paths.under(root, folder / unit).unlink(missing_ok=True)


def read(folder: Path, root: Path = paths.ROOT) -> dict[str, Mark]:
    """Given paths.LEAVING or paths.DRAINED, return the marks by unit. What is no mark is none."""
    try:
        places = list(paths.under(root, folder).iterdir())
    except OSError:
        return {}
    return {place.name: mark for place in places if (mark := _mark(place)) is not None}


def _mark(place: Path) -> Mark | None:
    try:
        found = json.loads(place.read_text())
        return Mark(str(found["invocation"]), float(found["at"]), float(found["monotonic"]))
    except (OSError, ValueError, TypeError, KeyError):
        return None
