"""Ends a part of a group at once, every process of its unit and its container; systemd starts it again."""

from __future__ import annotations

from floor.box import containers, systemctl
from floor.box.command import Run, run

from .settings import Group


def end(group: Group, start: str, run: Run = run) -> bool:
    """Given a group and the start of its part that is meant (InvocationID), end it; return whether it was still that.

    It ends for another part's sake, so this does not count towards its own start limit. Raise FloorError if it cannot
    be ended.
    """
    unit = group.unit
    if systemctl.show([unit], run)[unit].invocation != start:
        return False
    systemctl.do(["reset-failed", "--", unit], run)
    systemctl.do(["kill", "--signal=SIGKILL", "--", unit], run)
    if group.container is not None:
        # Killing docker's client leaves the container running. Its unit's ExecStopPost= removes it, too.
        containers.remove(group.container, run)
    return True
