"""Follows the logs of engines that start: what they announce may already say that the box will freeze."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from floor.box import paths, systemctl
from floor.box.command import Run, run
from floor.box.units import UnitFacts
from floor.engines import log
from floor.engines.signs import sign

from .look import launch
from .records import Logged
from .settings import GIB, Copy

LINES = 400  # of the journal: what is looked for comes within the first hundreds of lines of a start


def logged(copy: Copy, unit: UnitFacts, own: Sequence[str], root: Path = paths.ROOT, run: Run = run) -> Logged:
    """Given a copy, its unit and its control groups, return what its present start has logged so far."""
    lines = systemctl.last_lines(copy.unit, LINES, unit.invocation, run)
    return Logged(launch(own, root), copy.utilization, log.parse(lines))


def announces(found: Logged, total: int | None, shared: bool | None) -> str:
    """Given what a start has logged, the bytes of the box and whether its GPU shares them, return what is wrong with
    what it announces, empty where nothing is. What a card of its own is asked for is no matter of the box."""
    return sign(found.start, total / GIB, found.utilization) if total is not None and shared else ""
