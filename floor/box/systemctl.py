"""Tells systemd what to do. Which unit, when and why is decided elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from floor.box.command import Run, run
from floor.errors import FloorError


def do(words: Sequence[str], run: Run = run) -> None:
    """Given the words after `systemctl`, carry them out. Raises FloorError with systemd's own words."""
    result = run(["systemctl", "--quiet", "--no-ask-password", *words])
    if not result.ok:
        raise FloorError(f"systemctl {' '.join(words)}: {result.said or 'failed without a word'}")


def last_line(unit: str, run: Run = run) -> str:
    """Given a unit, return the last line that it logged, empty where there is none."""
    result = run(["journalctl", f"--unit={unit}", "--lines=1", "--output=cat", "--no-pager", "--quiet"])
    return result.out.strip() if result.ok else ""
