"""Does what was decided: under the box's lock, and only if the unit is still the one that was looked at."""

from __future__ import annotations

from pathlib import Path

from floor.box import containers, paths, systemctl
from floor.box.command import Run, run
from floor.box.operation import Operation
from floor.box.units import UnitFacts

from .decide import Action
from .settings import Copy


def act(action: Action, copy: Copy, unit: UnitFacts, root: Path = paths.ROOT, run: Run = run) -> str:
    """Given what to do, the copy and its unit as it was seen, do it. Return what kept from it, empty when it was done.

    Raise HeldError when an operation has taken the box meanwhile, FloorError with systemd's own words.
    """
    with Operation(root).idle():
        now = systemctl.show([copy.unit], run)[copy.unit]
        if (now.active, now.invocation) != (unit.active, unit.invocation):
            return f"{copy.unit} is {now.active} meanwhile"
        if action in (Action.RESTART, Action.CLEAR):
            _end(copy, run)
        elif action is Action.STOP:
            systemctl.do(["stop", "--no-block", "--", copy.unit], run)
        elif action is Action.START:
            if now.active == "failed":
                systemctl.forget(copy.unit, run)
            systemctl.do(["start", "--no-block", "--", copy.unit], run)
    return ""


def _end(copy: Copy, run: Run) -> None:
    """End every process at once: one that hangs does not listen to SIGTERM, or would finish what it cannot finish."""
    if copy.docker:
        containers.remove(containers.of_unit(copy.unit), run)
    systemctl.do(["kill", "--signal=SIGKILL", "--", copy.unit], run)
