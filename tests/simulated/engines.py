"""Engine units of a simulated box: copies, and parts of groups, which come up together or not at all."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from floor.box import paths
from floor.box.holds import Hold
from tests.simulated.world import LOAD_SECONDS

if TYPE_CHECKING:
    from tests.simulated.box import SimulatedBox

COPY, GROUP = "floor-copy-", "floor-group-"
JOIN_SECONDS = 1.0  # from the start of the last part until every rank of the group has joined


def engine(unit: str) -> bool:
    """Whether a unit runs an engine."""
    return unit.startswith((COPY, GROUP))


def model(unit: str) -> str:
    """The model of an engine's unit."""
    return unit.removeprefix(COPY).removeprefix(GROUP).removesuffix(".service")


def unit_of(backend: str) -> str:
    """The unit in which a backend runs: a copy, or a group with the names of several boxes."""
    name, _, boxes = backend.partition("@")
    return f"{GROUP if '+' in boxes else COPY}{name}.service"


def backend(box: SimulatedBox, unit: str) -> str:
    """The backend of which an engine's unit is, or is a part."""
    if unit.startswith(COPY):
        return f"{model(unit)}@{box.name}"
    return str(json.loads(box.text(paths.GROUPS / f"{model(unit)}.json") or "{}").get("backend"))


def admitted(box: SimulatedBox, unit: str) -> bool:
    """Whether the unit's condition lets it start in the mode that the box is in."""
    line = re.search(r"^ExecCondition=.*?-qx (.*) /etc/floor/mode$", box.text(paths.UNITS / unit) or "", re.MULTILINE)
    words = line[1].replace("-e ", "").split() if line else None
    return words is None or (box.text(paths.MODE) or "").strip() in words


def installed(box: SimulatedBox, unit: str) -> str:
    """The launch that the unit's file would start."""
    found = re.search(r"FLOOR_LAUNCH=([0-9a-f]+)", box.text(paths.UNITS / unit) or "")
    return found[1] if found else ""


def kept_down(box: SimulatedBox, unit: str) -> str:
    """Why the guard keeps it down, empty where it does not."""
    hold = Hold(**box.holds[unit]) if unit in box.holds else None
    return hold.words if hold and hold.forbids(installed(box, unit)) else ""


def joined(box: SimulatedBox, unit: str) -> float | None:
    """Since when all parts of a group run, None while one of them does not or its box cannot be reached."""
    names = backend(box, unit).partition("@")[2].split("+")
    parts = [box.world.boxes[name] for name in names if name in box.world.boxes]
    if any(not part.up or unit not in part.processes or unit in part.stopping for part in parts):
        return None
    return max(part.processes[unit].started for part in parts)


def ready(box: SimulatedBox, unit: str) -> float | None:
    """When the unit is active, None where nobody knows."""
    if unit.startswith(COPY):
        return box.processes[unit].started + LOAD_SECONDS
    since = joined(box, unit)
    if since is None:
        return None
    head = backend(box, unit).partition("@")[2].split("+")[0] == box.name
    return since + (LOAD_SECONDS if head else JOIN_SECONDS)
