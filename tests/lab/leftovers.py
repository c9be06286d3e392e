"""Removing a run of the lab, ours at its end or one whose process died: both by what is there, not by memory.

A run's folder holds a lock that its process keeps for as long as it lives; whoever can take the lock knows it is dead.
"""

from __future__ import annotations

import fcntl
import json
import shutil
from collections.abc import Iterable
from pathlib import Path

from tests.lab import cgroups
from tests.lab.commands import run


def demolish(folder: Path) -> None:
    """Remove everything named after the run at `folder`: processes, mounts, wires, bridge, cgroups, and the folder."""
    run_id = folder.name
    for group in cgroups.names(f"{run_id}-"):
        cgroups.kill(group)
        cgroups.remove(group)
    for place in mounts_below(folder):
        run(["umount", place])
    for name in named_after(run_id):
        run(["ip", "link", "delete", name], check=False)
        run(["ip", "netns", "delete", name], check=False)
    shutil.rmtree(folder, onerror=_there)


def _there(_: object, path: str, why: tuple[type[BaseException], BaseException, object]) -> None:
    """What is gone already, as a process of a box that was just ended removes its own, is no failure."""
    if not isinstance(why[1], FileNotFoundError):
        raise why[1]


def mounts_below(folder: Path) -> list[Path]:
    """Return the mount points below `folder`, the deepest first."""
    places = [Path(line.split()[1]) for line in Path("/proc/self/mounts").read_text().splitlines()]
    return sorted((place for place in places if place.is_relative_to(folder)), reverse=True)


def named_after(run_id: str) -> list[str]:
    """Return the names of the network interfaces and namespaces of a run."""
    links = json.loads(run(["ip", "-json", "link", "show"]).stdout)
    spaces = json.loads(run(["ip", "-json", "netns", "list"]).stdout or "[]")
    found = {str(item.get("ifname") or item.get("name")) for item in (*links, *spaces)}
    return sorted(name for name in found if name.startswith(f"{run_id}-"))


def dead_runs(folders: Iterable[Path]) -> list[Path]:
    """Given the folders of runs, return those whose process is gone."""
    return [folder for folder in folders if not is_alive(folder)]


def is_alive(folder: Path) -> bool:
    """Return whether a process holds the run's lock."""
    with (folder / "lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
