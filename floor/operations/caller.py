"""Who runs this command, and whether the one who holds a box is still there."""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil

# Two readings of one process's start differ by up to a second (btime of /proc/stat is cut), more after a clock's step.
SAME_START = 5.0


def caller() -> dict[str, Any]:
    """Who asks: user, host, process id and when that process started (unix seconds)."""
    return {
        "user": user(),
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "started": psutil.Process().create_time(),
    }


def boot() -> str:
    """The id of the boot of the machine that this runs on; empty where it tells none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:  # no Linux: no box either
        return ""


def user() -> str:
    """The name of the user; one without a name goes by the number."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return f"uid-{os.getuid()}"


def name() -> str:
    """The caller as USER@HOST."""
    return f"{user()}@{socket.gethostname()}"


def dead(by: Mapping[str, Any]) -> bool:
    """Whether the holder was a process of this user on this machine that is no longer there."""
    if (by.get("user"), by.get("host")) != (user(), socket.gethostname()):
        return False
    try:
        return abs(psutil.Process(int(by["pid"])).create_time() - float(by["started"])) > SAME_START
    except (psutil.NoSuchProcess, KeyError, TypeError, ValueError):
        return True
