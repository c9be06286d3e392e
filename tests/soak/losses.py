"""Which lost requests a fault explains. Pure: times are of this machine's monotonic clock, in seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

EDGE = 2.0  # between the note of a time and what it is of: a command in a box takes a second on a busy machine
FOUND = 8.0  # until a box without a word is out of the pools, and what was sent to it has ended: twice what it takes
MOVED = 8.0  # until the shared address is served elsewhere: twice the longest goal
SHARED = "shared"


@dataclass(frozen=True)
class Fault:
    """What was done to `box` from `began` until everything was whole again. `held`: it had the shared address.

    Kinds: engine (its processes killed), nginx (killed), cut (the box was out of reach or without power), hung (the
    engine stood still for seconds: its timer for idle connections then runs out on one that has a request waiting, and
    uvicorn closes it), harmless (what must lose nothing at all).
    """

    kind: str
    text: str
    box: str
    began: float
    ended: float
    held: bool = False

    def explains(self, target: str, start: float, end: float) -> bool:
        """Whether a request to `target` (a box's own proxy, or the shared address) that was open from `start` to `end`
        may have been lost by it."""
        open_then = start <= self.began + EDGE and end >= self.began - EDGE
        through = target == self.box or (target == SHARED and self.held)
        if self.kind == "engine":
            return open_then
        if self.kind == "hung":
            return self.began - EDGE <= start <= self.began + FOUND and end <= self.ended + EDGE
        if self.kind == "nginx":
            return through and start <= self.began + MOVED and end >= self.began - EDGE
        if self.kind == "cut":
            if target == self.box:
                return start <= self.ended and end >= self.began - EDGE
            return start <= self.began + (MOVED if through else FOUND) and end >= self.began - EDGE
        return False


def unexplained(
    failures: Mapping[str, Sequence[Mapping[str, Any]]], faults: Sequence[Fault]
) -> list[tuple[str, Mapping[str, Any], str]]:
    """Given the failures by target and the faults, return those that no fault explains, each with what was done last
    before it ended."""
    found = []
    for target, some in failures.items():
        for one in some:
            if any(fault.explains(target, one["start"], one["end"]) for fault in faults):
                continue
            before = [fault for fault in faults if fault.began <= one["end"]]
            last = max(before, key=lambda fault: fault.began, default=None)
            told = f"{one['end'] - last.began:.2f} s after {last.text}" if last else "before any fault"
            found.append((target, one, told))
    return found
