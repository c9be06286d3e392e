"""What is asked of goals before anything is fetched: known names, boxes that answer, room, and no other weights."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from floor.box.manifest import Origin
from floor.errors import FloorError, RefusedError, UsageError
from floor.operations.site import Site
from floor.plan import fetch as plan
from floor.plan.fetch import FolderSeen, Weights

Rows = Sequence[Mapping[str, Any]]


def answering(goals: Sequence[Weights], seen: Mapping[tuple[str, str], FolderSeen]) -> list[Weights]:
    """Given goals and what was seen, return the goals with the boxes that answered."""
    return [
        dataclasses.replace(goal, places={box: at for box, at in goal.places.items() if (box, at) in seen})
        for goal in goals
    ]


def names(site: Site, models: Sequence[str], boxes: Sequence[str]) -> None:
    """Raise UsageError for a model or a box that floor.yaml does not have."""
    config = site.loaded.config
    for model in models:
        if model not in config.models:
            raise UsageError(f"{model}: no such model in floor.yaml; there are {', '.join(config.models)}")
    for box in boxes:
        if box not in site.boxes:
            raise UsageError(f"{box}: no such box that floor manages; there are {', '.join(site.boxes)}")


def sizes_of(rows: Mapping[Origin, Rows]) -> dict[Origin, int]:
    """Given the files of each goal, return how many bytes they have."""
    return {origin: sum(int(row["size"]) for row in files) for origin, files in rows.items()}


def demand_room(
    goals: Sequence[Weights], rows: Mapping[Origin, Rows], seen: Mapping[tuple[str, str], FolderSeen]
) -> None:
    """Raise RefusedError for a folder that holds other weights, FloorError for a disk that is too small."""
    if found := plan.refusals(goals, seen):
        raise RefusedError("nothing was fetched:\n" + "\n".join(f"  {line}" for line in found))
    if found := plan.shortages(goals, sizes_of(rows), seen):
        raise FloorError("nothing was fetched:\n" + "\n".join(f"  {line}" for line in found))
