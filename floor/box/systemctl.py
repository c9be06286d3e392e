"""Asks systemd, and tells it what to do. Which unit, when and why is decided elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from floor.box import units
from floor.box.command import Run, run
from floor.errors import FloorError


def do(words: Sequence[str], run: Run = run) -> None:
    """Given the words after `systemctl`, carry them out. Raises FloorError with systemd's own words."""
    result = run(["systemctl", "--quiet", "--no-ask-password", *words])
    if not result.ok:
        raise FloorError(f"systemctl {' '.join(words)}: {result.said or 'failed without a word'}")


def show(names: Sequence[str], run: Run = run) -> dict[str, units.UnitFacts]:
    """Given unit names, return what systemd says of them. Raises FloorError when systemd cannot be asked."""

    def ask(argv: Sequence[str], _timeout: float) -> str:
        result = run(argv)
        if not result.ok:
            raise FloorError(f"systemctl show: {result.said or 'failed without a word'}; does systemd run on this box?")
        return result.out

    return units.show(names, ask)


def last_line(unit: str, run: Run = run) -> str:
    """Given a unit, return the last line that it logged, empty where there is none."""
    result = run(["journalctl", f"--unit={unit}", "--lines=1", "--output=cat", "--no-pager", "--quiet"])
    return result.out.strip() if result.ok else ""
