"""Starts that were let go a moment ago: what each was promised, until the guard sees it start. One file, under a lock.

Its change also tells the guard that a copy starts, so that it looks at once and not at its next turn.
"""

from __future__ import annotations

import json
from pathlib import Path

from floor.box import files, paths
from floor.box.locked import mine

LASTS = 30.0  # seconds; the guard looks at once, and reports every five


def read(root: Path, now: float) -> list[str]:
    """Given the root of all paths and the monotonic clock, return the units that were let go lately."""
    try:
        found = json.loads(paths.under(root, paths.GUARD_STARTS).read_text())
        return [str(unit) for unit, at in found.items() if 0 <= now - float(at) < LASTS]
    except (OSError, ValueError, TypeError, AttributeError):
        return []


def put(unit: str, root: Path, now: float) -> None:
    """Given a unit that may start now, write it down beside the others. Raise FloorError if that cannot be written."""
    kept = {name: now for name in read(root, now) if name != unit}
    files.write(paths.GUARD_STARTS, json.dumps({**kept, unit: now}) + "\n", owner=mine(), root=root)


def changed(root: Path) -> float:
    """Return when the file last changed, 0 where there is none."""
    try:
        return paths.under(root, paths.GUARD_STARTS).stat().st_mtime
    except OSError:
        return 0.0
