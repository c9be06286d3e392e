"""What `floor status` tells of a group: running, starting, or degraded, which half, and since when."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from floor.box import parts
from floor.config.model import ResolvedCopy
from floor.desired.groups import unit_name
from floor.errors import FloorError
from floor.pool.group import DOWN, STARTING, PartSeen, broken
from floor.pool.memory import UnitSeen

RUNNING = "running"
STATES = {STARTING: "starting", DOWN: "down"}  # what else is broken is degraded


def told(group: Sequence[ResolvedCopy], answers: Mapping[str, Any]) -> dict[str, Any]:
    """Given the parts of a group, the head first, and what each box answered (one that did not is not in it), return
    {"state", "why", "since": unix seconds or null, "parts": [...]}.

    `running` is said only where every part tells that it runs, in one generation; never for half.
    """
    seen = [_part(part, answers) for part in group]
    found = broken([one for one, _ in seen])
    state = RUNNING if found is None else STATES.get(found[0], "degraded")
    changed = [unit["at"] for one, unit in seen if unit.get("at") and (found is None or not one.up)]
    return {
        "state": state,
        "why": "" if found is None else found[1],
        "since": max(changed, default=None),
        "parts": [_row(part, at) for part, (_, at) in zip(group, seen, strict=True)],
    }


def _part(part: ResolvedCopy, answers: Mapping[str, Any]) -> tuple[PartSeen, Mapping[str, Any]]:
    if part.box not in answers:
        return PartSeen(part.box, None, None, math.inf), {}
    name = unit_name(part.model)
    unit = answers[part.box].get("units", {}).get(name, {})
    active = str(unit.get("active") or "inactive")
    seen = UnitSeen(
        name,
        active,
        str(unit.get("sub") or "dead"),
        str(unit.get("result") or ""),
        str(unit.get("invocation") or ""),
    )
    return PartSeen(part.box, seen, _told(unit, part.model), 0.0), unit


def _told(unit: Mapping[str, Any], model: str) -> parts.Told | None:
    try:
        return parts.read({"groups": {model: unit["part"]}}, model) if unit.get("part") else None
    except FloorError:
        return None  # a box of another release; its unit tells enough


def _row(part: ResolvedCopy, unit: Mapping[str, Any]) -> dict[str, Any]:
    mark = unit.get("part") or {}
    return {
        "box": part.box,
        "unit": unit.get("active"),
        "sub": unit.get("sub"),
        "phase": mark.get("phase"),
        "generation": mark.get("generation"),
        "left": unit.get("left") or [],
    }
