"""What engines of this box were measured at: by backend, and by what each was started with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from floor.box import files, paths
from floor.box.locked import locked, mine

KEPT = 4  # of each backend: starts with other settings, the last one last
BACKENDS = 64  # those measured last; a name that floor.yaml no longer has falls away with time


def keep(backend: str, figures: Mapping[str, Any], *, at: float, root: Path = paths.ROOT) -> None:
    """Keep what a backend was measured at, {launch, start, points}, in place of what the same launch had before. `at`
    is unix seconds, to show."""
    with locked(paths.under(root, paths.CALIBRATIONS)):
        every = read(root)
        others = [one for one in every.pop(backend, []) if one["launch"] != figures["launch"]]
        every[backend] = [*others, {**figures, "at": round(at)}][-KEPT:]
        kept = dict(list(every.items())[-BACKENDS:])
        files.write(paths.CALIBRATIONS, json.dumps(kept, indent=1) + "\n", owner=mine(), root=root)


def read(root: Path = paths.ROOT) -> dict[str, list[dict[str, Any]]]:
    """Return by backend what it was measured at, the oldest first. What is damaged tells nothing."""
    try:
        found = json.loads(paths.under(root, paths.CALIBRATIONS).read_text())
        return {str(name): [dict(one) for one in entries if _whole(one)] for name, entries in found.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _whole(entry: Any) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("launch"), str) and isinstance(entry.get("points"), list)
