"""`python -I -m floor.guard.admit UNIT`: may this copy start? Asked by its unit, whoever starts it.

--held: only whether the guard keeps it down (ExecCondition: then the start is skipped). Without it: whether there is
room for it, which is waited for a while, since memory comes back late after a stop (ExecStartPre: then it fails).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from floor.box import gpu, holds, memory, paths
from floor.box.locked import locked
from floor.errors import FloorError

from . import promises, settings
from .fit import refusal

WAIT = 60.0  # seconds; what people found an engine's memory to need after it was killed
EVERY = 2.0
FRESH = 30.0  # seconds; a guard reports every five, and one that is dead tells nothing of now


def held(unit: str, environ: dict[str, str], root: Path) -> str:
    """Given the unit, its environment and the root of all paths, return why it must not start, empty where it may.

    A start with another launch than the one that was taken down is another engine, and may.
    """
    hold = holds.against(unit, environ.get("FLOOR_LAUNCH", ""), root)
    return "" if hold is None else hold.words


def room(
    unit: str,
    root: Path,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    cards: Callable[[], gpu.Cards] = lambda: gpu.read(gpu.binding()),
    wall: Callable[[], float] = time.time,
) -> str:
    """Given the unit, wait until it fits, at most `WAIT` seconds. Return why it does not, empty where it does.

    Without the guard's settings, and in mode observe, every start may.
    """
    place = paths.under(root, paths.GUARD_SETTINGS)
    if not place.exists():
        return ""
    wanted = settings.load(place)
    shared, ends = cards().shared, clock() + WAIT
    while True:
        # Two that start at once, as at a boot, are not both promised the same memory.
        with locked(paths.under(root, paths.GUARD_STARTS)):
            why = refusal(wanted, unit, memory.read(root), _held(root, clock(), wall()), shared=shared)
            if not why or wanted.mode != "protect":
                promises.put(unit, root, clock())
                return ""
        if clock() >= ends:
            return why
        sleep(EVERY)


def _held(root: Path, now: float, unix: float) -> dict[str, int | None]:
    """What each engine that starts holds, as the guard tells: one of which nobody tells, and one that was let go a
    moment ago, nothing yet. One that runs has taken what it wants. Without a guard nothing is known."""
    held: dict[str, int | None] = dict.fromkeys(promises.read(root, now), 0)
    try:
        found: dict[str, Any] = json.loads(paths.under(root, paths.GUARD_STATE).read_text())
        for one in found["engines"] if 0 <= unix - found["at"] < FRESH else ():
            if one["starting"]:
                held[str(one["unit"])] = one["memory"] or 0
    except (OSError, ValueError, KeyError, TypeError):
        pass  # without a guard nobody tells
    return held


def main(argv: Sequence[str] | None = None) -> int:
    """Given the arguments, return 0 where the start may go on, else 1 with the reason on stderr."""
    parser = argparse.ArgumentParser(prog="python -m floor.guard.admit", description=__doc__)
    parser.add_argument("unit", help="floor-copy-MODEL.service")
    parser.add_argument("--held", action="store_true", help="only whether the guard keeps it down")
    parser.add_argument("--root", type=Path, default=paths.ROOT, help="folder that all paths lie below (default: /)")
    options = parser.parse_args(argv)
    try:
        why = held(options.unit, dict(os.environ), options.root) if options.held else room(options.unit, options.root)
    except FloorError as error:
        # What the guard knows is broken: an engine must not stay down for that.
        print(f"floor-guard: {error}; the start goes on without it", file=sys.stderr)
        return 0
    if why:
        print(f"floor-guard: no start: {why}", file=sys.stderr)
    return 1 if why else 0


if __name__ == "__main__":
    sys.exit(main())
