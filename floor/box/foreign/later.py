"""Who else could start, stop or fight with engines here: what a deployment looks for, looked for once more."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from floor.box import paths
from floor.box.command import Run, run
from floor.box.foreign import boxed, procs, starters, taken
from floor.box.foreign.look import patient
from floor.errors import FloorError


def look(units: Iterable[str], ports: Iterable[int], root: Path = paths.ROOT, run: Run = run) -> dict[str, Any]:
    """Given our units and the ports of our engines, return what `starters.look` tells, and {others: names of units and
    containers in which engines run that are not ours, taken: names of what floor took the place of}."""
    run = patient(run)
    listed = boxed.listed(run)
    engines = {
        one["owner"]["name"]
        for one in procs.every(paths.under(root, "/proc"), boxed.names(listed))
        if one["engine"] and one["owner"]["kind"] in ("unit", "user-unit", "container")
    }
    others = sorted(name for name in engines if not name.startswith("floor-"))
    replaced = _taken(root)
    return {
        **starters.look([*units, *others, *replaced], ports, root, run),
        "others": [name.removesuffix(".service") for name in others],
        "taken": [name.removesuffix(".service") for name in replaced],
    }


def _taken(root: Path) -> list[str]:
    try:
        return [str(one["name"]) for one in taken.read(root) if one["kind"] in ("unit", "container")]
    except (FloorError, KeyError):
        return []  # whoever would undo it is told; here it only widens the search
