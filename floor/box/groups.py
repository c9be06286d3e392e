"""Control groups of units and containers: who is in them, what they hold, and how all of them end at once."""

from __future__ import annotations

import os
import re
import signal
from contextlib import suppress
from pathlib import Path

from floor.box import paths, processes

MOUNT = Path("/sys/fs/cgroup")


def of_unit(unit: str) -> str:
    """Given a service's name, return its group below the mount, as systemd lays it out for the system's services."""
    return f"/system.slice/{unit}"


def of_process(pid: int, root: Path = paths.ROOT) -> str:
    """Given a process id, return its group (systemd's where there is no unified hierarchy), empty where it is gone."""
    try:
        text = paths.under(root, f"/proc/{pid}/cgroup").read_text()
    except OSError:
        return ""
    found = re.search(r"^0::(/.+)$", text, re.MULTILINE) or re.search(r"name=systemd:(/.+)$", text, re.MULTILINE)
    return found[1] if found else ""


def memory(group: str, root: Path = paths.ROOT) -> int | None:
    """Given a group, return the bytes that its processes hold and that page cache is no part of; None: not told.

    On GB10 this has nothing of what they hold on the card.
    """
    try:
        text = paths.under(root, MOUNT / group.lstrip("/") / "memory.stat").read_text()
    except OSError:
        return None
    return sum(int(size) for name, size in re.findall(r"^(anon|shmem) (\d+)$", text, re.MULTILINE))


def end(group: str, root: Path = paths.ROOT) -> bool:
    """Given a group, end every process in it at once. Return whether there was one.

    One write where the kernel has `cgroup.kill` (5.14): nothing is forked or allocated for it, and nothing that is born
    meanwhile escapes. Else a signal to each.
    """
    place = paths.under(root, MOUNT / group.lstrip("/"))
    members = processes.in_cgroup(group, root)
    try:
        with (place / "cgroup.kill").open("w") as file:
            file.write("1")
    except OSError:
        for pid in members:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
    return bool(members)
