"""How much memory this box has and could give away now. What is not known is None, never 0.

On a box with unified memory the driver's figures are `[N/A]`: MemAvailable is what the GPU can have, too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from floor.box import paths


@dataclass(frozen=True)
class Memory:
    """Bytes of the whole box and bytes available to a new process; None where the machine does not tell."""

    total: int | None
    available: int | None


def parse(meminfo: str) -> Memory:
    """Given the text of /proc/meminfo, return MemTotal and MemAvailable (its lines count KiB)."""
    kib = {key: int(value) for key, value in re.findall(r"^(\w+):\s+(\d+) kB$", meminfo, re.MULTILINE)}
    return Memory(*(kib[key] * 1024 if key in kib else None for key in ("MemTotal", "MemAvailable")))


def within(memory: Memory, limit: int | None, used: int | None) -> Memory:
    """Given what a control group may have and uses (bytes, None: no limit), return the smaller of both views."""
    if limit is None:
        return memory
    left = max(0, limit - (used or 0))  # with its use unknown, it is bounded by the limit at least
    return Memory(_smaller(memory.total, limit), _smaller(memory.available, left))


def _smaller(one: int | None, other: int | None) -> int | None:
    known = [value for value in (one, other) if value is not None]
    return min(known) if known else None


def read(root: Path = paths.ROOT) -> Memory:
    """Return this box's memory, never more than the control group it was put in allows (containers, nspawn)."""
    try:
        memory = parse(paths.under(root, "/proc/meminfo").read_text())
    except OSError:
        memory = Memory(None, None)
    for folder, limit, used in (
        ("/sys/fs/cgroup", "memory.max", "memory.current"),
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ):
        group = paths.under(root, folder)
        bound = _number(group / limit)
        if bound is not None and bound < 1 << 60:  # version 1 says "none" by a number near 2^63
            usage = _number(group / used)
            # Page cache that nobody uses counts as used by the group, and is given back at once when asked for.
            idle = _field(group / "memory.stat", "inactive_file") or 0
            memory = within(memory, bound, None if usage is None else max(0, usage - idle))
    return memory


def _number(path: Path) -> int | None:
    try:
        text = path.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None


def _field(path: Path, name: str) -> int | None:
    try:
        found = re.search(rf"^{name} (\d+)$", path.read_text(), re.MULTILINE)
    except OSError:
        return None
    return int(found[1]) if found else None
