"""Whether a group is whole: one model split over boxes serves when every part runs, in one generation. Pure.

The head answers for all. Without its worker it still says that it is healthy (vLLM 0.32), and fails at the next token:
so what the boxes tell of the parts counts, before any answer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from floor.box.parts import Phase, Told

from .memory import UnitSeen

# Seconds without a word from a part's box after which the group is out. The service of the group ends the other parts
# then (floor/group), so what it still answers is its last.
SILENCE = 5.0

STARTING, DOWN = "starting", "down"
HALF = "half a group"  # never `degraded`, which is a verdict's word for a copy that may be the last resort


@dataclass(frozen=True)
class PartSeen:
    """One part of a group: `unit` and `told` are what its box tells (None: it does not), `silent` is for how many
    seconds it has told nothing."""

    box: str
    unit: UnitSeen | None
    told: Told | None
    silent: float

    @property
    def up(self) -> bool:
        return self.unit is None or self.unit.up


def broken(parts: Sequence[PartSeen]) -> tuple[str, str] | None:
    """Given the parts of a group, the head first, return why it is not whole, in a word or two and in a sentence that
    names the half; None where nothing is known against it. A copy has no parts."""
    mute = [one for one in parts if one.silent > SILENCE]
    if mute:
        return HALF, _told("degraded", parts, mute)
    down = [one for one in parts if not one.up]
    lost = [one for one in down if one.unit is not None and one.unit.active != "activating"]
    if lost and len(lost) == len(parts):
        return DOWN, _told("down", parts, lost)
    if lost or (down and parts[0] not in down):
        return HALF, _told("degraded", parts, lost or down)
    return (STARTING, _told("starting", parts, parts)) if down else _generations(parts)


def _told(what: str, parts: Sequence[PartSeen], some: Sequence[PartSeen]) -> str:
    return f"{what}: {', '.join(f'{_name(parts, one)} {_state(one)}' for one in some)}"


def _generations(parts: Sequence[PartSeen]) -> tuple[str, str] | None:
    """A box of an older release tells none; then the units alone count."""
    known = [one for one in parts if one.told is not None and one.told.generation]
    if len({one.told.generation for one in known if one.told}) < 2:
        return None
    head = next((one.told.generation for one in known if one.told and one is parts[0]), None)
    odd = [_name(parts, one) for one in known if one.told and one.told.generation != head]
    return HALF, f"degraded: {' and '.join(odd)} is of another start than the head"


def _name(parts: Sequence[PartSeen], one: PartSeen) -> str:
    return f"the {'head' if one is parts[0] else 'worker'} on {one.box}"


def _state(one: PartSeen) -> str:
    unit, told = one.unit, one.told
    if one.silent > SILENCE:
        return "does not answer" if math.isinf(one.silent) else f"has told nothing for {one.silent:.0f} s"
    if unit is None:
        return "does not tell"
    if unit.active == "activating":
        waits = told is not None and told.phase is Phase.WAITING
        return "waits for the others" if waits else f"is starting ({unit.sub})"
    if unit.up:
        return "runs"
    ended = f", {unit.result}" if unit.result not in ("", "success") else ""
    return f"is {unit.active} ({unit.sub}{ended})"
