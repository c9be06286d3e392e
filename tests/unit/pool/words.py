"""Short words for what is seen of a backend, for cases and properties."""

from __future__ import annotations

from typing import Any

from floor.healthcheck.verdict import Level, Reason, Verdict
from floor.pool.memory import Seen, UnitSeen

LEVELS = {
    Reason.OK: Level.GENERATES,
    Reason.SLOW: Level.GENERATES,
    Reason.PREFILLING: Level.GENERATES,
    Reason.DEGRADED: Level.GENERATES,
    Reason.UNPROVEN: Level.READY,
    Reason.HUNG: Level.READY,
    Reason.COLD: Level.READY,
    Reason.REFUSED: Level.DOWN,
    Reason.UNREACHABLE: Level.DOWN,
    Reason.NOT_AN_ENGINE: Level.DOWN,
}
STALL = 300.0
UNIT = "floor-copy-flagship.service"


def verdict(name: str, word: str, at: float, level: int | None = None) -> Verdict:
    """Given a backend, a reason's word and the time, return the verdict; `prefilling_unproven` has no proof yet."""
    reason = Reason(word.removesuffix("_unproven") if word != "unproven" else word)
    if level is None:
        level = Level.READY if word.endswith("_unproven") else LEVELS.get(reason, Level.ALIVE)
    return Verdict(name, f"http://{name}", Level(level), reason, f"found {word}", None, None, None, at)


def unit(active: str, run: int = 1) -> UnitSeen | None:
    """Given an ActiveState and the number of its start, return the unit; None for `silent`."""
    return None if active == "silent" else UnitSeen(UNIT, active, "sub", "success", f"run-{run}")


def seen(name: str, what: str | dict[str, Any], at: float, *, managed: bool = True) -> Seen:
    """Given a word, or {reason, level, unit, run, drains, leaving}, return what is seen of a backend at a time."""
    given = {"reason": what} if isinstance(what, str) else what
    return Seen(
        verdict=verdict(name, given.get("reason", "ok"), at, given.get("level")),
        drains=tuple(given.get("drains", ())),
        managed=managed,
        unit=unit(given.get("unit", "active"), given.get("run", 1)) if managed else None,
        told=given.get("told", at),
        stall=STALL,
        leaving=given.get("leaving", ""),
    )
