"""The guard locks itself into memory, or says why it cannot."""

from __future__ import annotations

import subprocess
import sys

LOCK = """
from floor.guard.__main__ import lock
why = lock()
locked = next(line for line in open("/proc/self/status") if line.startswith("VmLck:"))
print(why or f"locked {int(locked.split()[1]) > 1000}")
"""


def test_it_is_locked_or_says_why_not() -> None:
    said = subprocess.run([sys.executable, "-c", LOCK], capture_output=True, text=True, check=True).stdout.strip()
    assert said == "locked True" or said.startswith("cannot lock its memory (")
