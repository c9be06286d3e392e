"""Whether one and the same process is still there, without more than a look at /proc."""

from __future__ import annotations

import os
import time
from pathlib import Path

PROC = Path("/proc")


def began(pid: int | str, proc: Path = PROC) -> str | None:
    """Return when a process began, in ticks since boot (proc(5), field 22); None if it is gone or a zombie.

    A pid can be used again; together with this it cannot be mistaken.
    """
    try:
        fields = (proc / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except (OSError, UnicodeDecodeError):
        return None
    return None if fields[0] in ("Z", "X") else fields[19]


def age(pid: int | str, proc: Path = PROC) -> float:
    """Return for how many seconds a process has been there; 0 where it is gone."""
    ticks = began(pid, proc)
    if ticks is None:
        return 0.0
    return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - int(ticks) / os.sysconf("SC_CLK_TCK"))
