"""What the lab needs of the machine it runs on, said before anything is made."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

PACKAGES = Path(__file__).with_name("packages.txt")
COMMANDS = ("debootstrap", "ip", "nsenter", "ssh", "ssh-keygen", "systemctl", "systemd-nspawn", "tar")


class LabError(Exception):
    """The lab could not do what was asked; the text says where, what was found and what to do."""


def what_is_missing(user_id: int, find: Callable[[str], str | None] = shutil.which) -> str:
    """Given a user id and a finder of commands, return what keeps the lab from starting, or an empty text."""
    if user_id != 0:
        return f"tests/lab boots real boxes and needs root; found user id {user_id}: run it with sudo"
    missing = [name for name in COMMANDS if find(name) is None]
    if missing:
        wanted = " ".join(PACKAGES.read_text().split())
        return f"tests/lab: not found on this machine: {', '.join(missing)}; run: apt-get install {wanted}"
    return ""


def require_machine() -> None:
    """Raise LabError unless this machine can boot boxes."""
    problem = what_is_missing(os.geteuid())
    if problem:
        raise LabError(problem)
