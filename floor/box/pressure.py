"""How much of the time work waited for memory: the kernel's pressure stall information (PSI)."""

from __future__ import annotations

import re
from pathlib import Path

from floor.box import paths


def parse(text: str) -> float | None:
    """Given the text of /proc/pressure/memory, return `full avg10`, None where it does not tell: per cent of the last
    ten seconds in which every task waited."""
    found = re.search(r"^full .*?avg10=([0-9.]+)", text, re.MULTILINE)
    return float(found[1]) if found else None


def read(root: Path = paths.ROOT) -> float | None:
    """Return `full avg10` of this box, None where its kernel keeps none."""
    try:
        return parse(paths.under(root, "/proc/pressure/memory").read_text())
    except (OSError, ValueError):
        return None
