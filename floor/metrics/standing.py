"""How things stand on this box: its mode, an open operation, a model that is away, what guard and watchdog keep.

And who goes past the proxy. Read from the files that each of them writes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from floor.box import away, direct, holds, paths
from floor.box.operation import Operation
from floor.errors import FloorError

from .values import Family, Kind, Labels, Value

ENDED = ("done", "aborted")


def families(root: Path, unix: float) -> list[Family]:
    """Given the root of all paths and unix seconds, return the families. What cannot be read is left out."""
    found: list[Family] = []
    for part in (_operation, _holds, _guard, _watchdog, _direct):
        try:
            found += part(root, unix)
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError, FloorError):
            continue
    return found


def _operation(root: Path, unix: float) -> Iterator[Family]:
    mode = _text(root, paths.MODE).strip()
    if mode:
        yield _gauge("floor_box_mode", "The mode that this box is in; 1 beside it.", {(("mode", mode),): 1.0})
    record = Operation(root).read()
    if record is None:
        return
    verb: Labels = (("verb", str(record["verb"])),)
    live, open_ = bool(record["live"]), record["state"] not in ENDED
    yield _gauge("floor_operation_live", "Whether an operation is at work on this box.", {verb: float(live)})
    left = float(open_ and not live)
    yield _gauge("floor_operation_unfinished", "Whether the last operation was left, or ended badly.", {verb: left})
    gone = away.live(away.read(root), record["epoch"] if live else None)
    yield _gauge(
        "floor_model_away_seconds",
        "A switch or a swap keeps the model away: seconds until it expects it back; below 0 it takes longer.",
        {(("mode", one.mode), ("model", model)): one.until - unix for model, one in gone.items()},
    )


def _holds(root: Path, _unix: float) -> Iterator[Family]:
    kept: dict[Labels, Value] = {(("unit", unit),): 1.0 for unit in holds.read(root)}
    yield _gauge("floor_held", "Engines that the guard keeps down.", kept)


def _guard(root: Path, unix: float) -> Iterator[Family]:
    found = _document(root, paths.GUARD_STATE)
    yield _gauge("floor_guard_age_seconds", "Time since the guard reported.", {(): max(0.0, unix - found["at"])})
    if found.get("floor") is not None:
        words = "Memory left at which the guard ends an engine."
        yield _gauge("floor_guard_floor_bytes", words, {(): float(found["floor"])})
    each: dict[Labels, Value] = {
        (("unit", str(one["unit"])),): float(one["memory"]) for one in found["engines"] if one.get("memory") is not None
    }
    yield _gauge("floor_engine_memory_bytes", "Memory that the guard counts to an engine.", each)


def _watchdog(root: Path, unix: float) -> Iterator[Family]:
    found = _document(root, paths.WATCHDOG_STATE)
    yield _gauge("floor_watchdog_age_seconds", "Time since the watchdog's round.", {(): max(0.0, unix - found["at"])})
    loud: dict[Labels, Value] = {
        (("copy", str(name)), ("reason", str(one["reason"]))): 1.0
        for name, one in found["decisions"].items()
        if one.get("alarm")
    }
    yield _gauge("floor_watchdog_alarm", "What the watchdog found and cannot put right; 1 beside it.", loud)


def _direct(root: Path, _unix: float) -> Iterator[Family]:
    seen: dict[Labels, Value] = {(("address", one["address"]),): float(one["connections"]) for one in direct.last(root)}
    words = "Connections past the proxy, by address: to engines here until a day after the last, of programs here now."
    yield _gauge("floor_direct_connections", words, seen)


def _gauge(name: str, words: str, children: Mapping[Labels, Value]) -> Family:
    return Family(name, Kind.GAUGE, words, children)


def _text(root: Path, path: Path) -> str:
    return paths.under(root, path).read_text()


def _document(root: Path, path: Path) -> Mapping[str, Any]:
    found = json.loads(_text(root, path))
    return found if isinstance(found, dict) else {}
