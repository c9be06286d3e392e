"""How long engines took to start and to stop on this box: what a switch tells beforehand is taken from it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from floor.box import files, paths
from floor.box.locked import locked, mine

COPY, GROUP = "floor-copy-", "floor-group-"  # how engines' units begin
KEPT = 10  # of each backend: the last few tell what the next one takes
_TIMES = {"starts": ("seconds", "warm"), "stops": ("seconds",)}  # what an entry must tell
BACKENDS = 64  # those that started last; a name that floor.yaml no longer has falls away with time


def started(backend: str, *, launch: str, seconds: float, warm: float, at: float, root: Path = paths.ROOT) -> None:
    """Note a start: the digest that the process carries, the seconds from its own beginning until it generated, those
    of its warm-up, and when it was warm (unix seconds)."""
    entry = {"launch": launch, "seconds": round(seconds, 1), "warm": round(warm, 1), "at": round(at)}
    _note(backend, "starts", entry, root)


def stopped(backend: str, *, seconds: float, at: float, root: Path = paths.ROOT) -> None:
    """Note a stop: the seconds from the order until nothing of it was left, and when that was (unix seconds)."""
    _note(backend, "stops", {"seconds": round(seconds, 1), "at": round(at)}, root)


def backend(unit: str, root: Path = paths.ROOT) -> str:
    """Given an engine's unit, return the backend that its settings name; empty where there are none."""
    for prefix, folder in ((COPY, paths.ENGINES), (GROUP, paths.GROUPS)):
        if unit.startswith(prefix):
            place = folder / f"{unit.removeprefix(prefix).removesuffix('.service')}.json"
            try:
                return str(json.loads(paths.under(root, place).read_text())["backend"])
            except (OSError, ValueError, TypeError, KeyError):
                return ""
    return ""


def read(root: Path = paths.ROOT) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Return by backend {"starts": [...], "stops": [...]}, the oldest first. A file or an entry that is damaged
    tells nothing."""
    try:
        found = json.loads(paths.under(root, paths.STARTS).read_text())
        return {
            str(name): {kind: [dict(one) for one in entries.get(kind, ()) if _whole(kind, one)] for kind in _TIMES}
            for name, entries in found.items()
        }
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _whole(kind: str, entry: Mapping[str, Any]) -> bool:
    return all(isinstance(entry.get(time), int | float) for time in _TIMES[kind])


def _note(backend: str, kind: str, entry: Mapping[str, Any], root: Path) -> None:
    with locked(paths.under(root, paths.STARTS)):
        every = read(root)
        found = every.pop(backend, {"starts": [], "stops": []})
        found[kind] = [*found[kind], dict(entry)][-KEPT:]
        kept = dict([*every.items(), (backend, found)][-BACKENDS:])
        files.write(paths.STARTS, json.dumps(kept, indent=1) + "\n", owner=mine(), root=root)
