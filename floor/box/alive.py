"""Whether one and the same process is still there, without more than a look at /proc."""

from __future__ import annotations

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
