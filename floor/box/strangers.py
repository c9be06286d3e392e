"""Engine processes that belong to no unit and no container: what a crash or a start by hand left behind."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from floor.box import processes

# The words that engines have in their command line, or write over it (vLLM names its children).
_ENGINE = re.compile(r"^VLLM::|(^|[/ ])vllm (serve|.*api_server)|(^|/)llama-server( |$)|(^|/)ollama (serve|runner)")
# Groups of whatever somebody keeps an eye on: a service of its own, a container.
_KEPT = re.compile(r"\.service(/|$)|docker|containerd|machine\.slice|kubepods")
LONGEST = 60  # characters of a command line that are told


def left(cgroup: str, root: Path) -> tuple[str, ...]:
    """Given a unit's control group, return the processes that are still in it, in words."""
    return tuple(describe(pid) for pid in processes.in_cgroup(cgroup, root))


def engines(proc: Path = processes.PROC) -> tuple[str, ...]:
    """Return the engine processes that nobody looks after: their parent is gone, their group is no service's."""
    found = []
    for pid in sorted(int(folder.name) for folder in proc.iterdir() if folder.name.isdigit()):
        words = " ".join(processes.argv(pid, proc))
        if words and _ENGINE.search(words) and processes.parent(pid, proc) == 1 and not _kept(pid, proc):
            found.append(describe(pid, proc))
    return tuple(found)


def holders(port: int, ours: Iterable[int] = ()) -> tuple[str, ...]:
    """Given a port, return who listens on it in words; `ours` are processes that may."""
    one = processes.listening().get(str(port))
    if one is None or one["pid"] in set(ours):
        return ()
    return (f"{describe(one['pid']) if one['pid'] else 'a process that is hidden'} on port {port}",)


def describe(pid: int, proc: Path = processes.PROC) -> str:
    """Given a process id, return `pid 7 (its command)`."""
    words = " ".join(processes.argv(pid, proc))
    return f"pid {pid} ({words[:LONGEST]})" if words else f"pid {pid}"


def _kept(pid: int, proc: Path) -> bool:
    try:
        group = (proc / str(pid) / "cgroup").read_text()
    except OSError:
        return True  # it is gone, or not ours to judge
    return bool(_KEPT.search(group))
