"""Follows the logs of engines that start: what they announce may already say that the box will freeze."""

from __future__ import annotations

from floor.box import systemctl
from floor.box.command import Run, run
from floor.box.units import UnitFacts
from floor.engines import log
from floor.engines.signs import sign
from floor.sizes import GIB

from .records import Logged
from .settings import Copy

LINES = 400  # of the journal: what is looked for comes within the first hundreds of lines of a start


def logged(copy: Copy, unit: UnitFacts, launch: str, run: Run = run) -> Logged:
    """Given a copy, its unit and the digest that it was started with, return what that start has logged so far."""
    lines = systemctl.last_lines(copy.unit, LINES, unit.invocation, run)
    return Logged(launch, copy.utilization, log.parse(lines))


def announces(found: Logged, total: int | None, shared: bool | None) -> str:
    """Given what a start has logged, the bytes of the box and whether its GPU shares them, return what is wrong with
    what it announces, empty where nothing is. What a card of its own is asked for is no matter of the box."""
    return sign(found.start, total / GIB, found.utilization) if total is not None and shared else ""
