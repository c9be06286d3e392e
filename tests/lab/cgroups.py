"""A cgroup of its own for each box: two boxes in one would share systemd's `/payload` and fight over it."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path


def hierarchies() -> list[Path]:
    """Return where systemd's groups live on this machine: the unified hierarchy, and v1's `systemd` where mounted."""
    found = []
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, place, kind, options, *_ = line.split()
        if kind == "cgroup2" or (kind == "cgroup" and "name=systemd" in options.split(",")):
            found.append(Path(place))
    return found


def make(name: str) -> list[Path]:
    """Make the group `name` in each hierarchy and return the files to write a process id to."""
    groups = [place / name for place in hierarchies()]
    for group in groups:
        group.mkdir(exist_ok=True)
    return [group / "cgroup.procs" for group in groups]


def processes(name: str) -> set[int]:
    """Return the ids of all processes in the groups `name` and below."""
    found: set[int] = set()
    for place in hierarchies():
        for file in (place / name).rglob("cgroup.procs"):
            try:
                found.update(int(word) for word in file.read_text().split())
            except FileNotFoundError:
                continue  # the group went away with its last process
    return found - {0}


def kill(name: str, deadline: float = 20.0) -> None:
    """SIGKILL all that runs in the groups `name` until nothing is left. Raises TimeoutError after `deadline` s."""
    end = time.monotonic() + deadline
    while alive := processes(name):
        if time.monotonic() > end:
            raise TimeoutError(f"cgroup {name}: processes {sorted(alive)} survive SIGKILL")
        for process in alive:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(0.05)


def remove(name: str) -> None:
    """Remove the groups `name` and all below; their processes must be gone."""
    for place in hierarchies():
        for folder, _, _ in os.walk(place / name, topdown=False):
            Path(folder).rmdir()


def names(prefix: str) -> list[str]:
    """Return the names of the groups that begin with `prefix`, at the top of any hierarchy."""
    return sorted({path.name for place in hierarchies() for path in place.glob(f"{prefix}*") if path.is_dir()})
