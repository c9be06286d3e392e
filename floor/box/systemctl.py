"""Asks systemd, and tells it what to do. Which unit, when and why is decided elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from floor.box import units
from floor.box.command import Result, Run, run
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


def forget(unit: str, run: Run = run) -> None:
    """Count a unit's starts and restarts anew: one that a person asks for must not be the one too many.

    Of a unit that systemd has not loaded nothing is counted. Raises FloorError when systemd cannot do it.
    """
    result = run(["systemctl", "--quiet", "--no-ask-password", "reset-failed", "--", unit])
    if not result.ok and "not loaded" not in result.said:
        raise FloorError(f"systemctl reset-failed {unit}: {result.said or 'failed without a word'}")


# The waits before and beside the engine, which tell that they wait or that the engine ended, never why.
WAITERS = ("floor-warm: ", "floor-gate: ")
LINES = 30  # among so many of the last lines is one of the engine's, however often the wait beside it speaks


def last_line(unit: str, run: Run = run) -> str:
    """Given the unit of an engine, return the last line that the engine logged, empty where there is none.

    What systemd itself logs of the unit (`Failed to start …`) is left out, and what the warm-up says of the backend.
    """
    return next(reversed(last_lines(unit, run=run)), "")


def last_lines(unit: str, lines: int = LINES, invocation: str = "", run: Run = run) -> list[str]:
    """As `last_line`, but all that are left of the last `lines`; of one start alone, given its invocation id."""
    of = [f"_SYSTEMD_INVOCATION_ID={invocation}"] if invocation else []
    argv = ["journalctl", f"_SYSTEMD_UNIT={unit}", *of, f"--lines={lines}", "--output=cat", "--no-pager", "--quiet"]
    return _engines(unit, run(argv))


def first_lines(unit: str, lines: int, invocation: str, run: Run = run) -> list[str]:
    """As `last_lines`, but the first ones of one start: what has been logged since may be millions."""
    of = [f"_SYSTEMD_UNIT={unit}", f"_SYSTEMD_INVOCATION_ID={invocation}"]
    words = ["journalctl", *of, "--output=cat", "--no-pager", "--quiet"]
    return _engines(unit, run(["sh", "-c", '"$@" | head -n "$0"', str(lines), *words]))


def _engines(unit: str, result: Result) -> list[str]:
    """Lines of the engine itself."""
    found = [line.strip() for line in result.out.splitlines()] if result.ok else []
    model = unit.removeprefix("floor-copy-").removeprefix("floor-group-").removesuffix(".service")
    beside = (*WAITERS, f"{model}@")
    return [line for line in found if line and not line.startswith(beside)]
