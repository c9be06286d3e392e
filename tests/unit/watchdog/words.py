"""Short words for what the watchdog sees of a copy, for cases and properties."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from floor.box.units import UnitFacts
from floor.engines.ending import Ending
from floor.healthcheck.load import Load
from floor.healthcheck.verdict import Level, Reason, Verdict
from floor.watchdog.seen import Box, Seen
from floor.watchdog.settings import Copy

UNIT = "floor-copy-flagship.service"
LEVELS = {
    Reason.OK: Level.GENERATES,
    Reason.DEGRADED: Level.GENERATES,
    Reason.PREFILLING: Level.READY,
    Reason.SLOW: Level.READY,
    Reason.HUNG: Level.READY,
    Reason.UNPROVEN: Level.READY,
    Reason.REFUSED: Level.DOWN,
    Reason.UNREACHABLE: Level.DOWN,
    Reason.NOT_AN_ENGINE: Level.DOWN,
}
COPY = Copy(
    backend="flagship@spark-a",
    unit=UNIT,
    url="http://192.0.2.11:8000",
    model="flagship",
    dialect="vllm",
    port=8000,
    key=True,
    docker=False,
    modes=("replicas",),
    stall=300.0,
    start_time=2400.0,
    request_time=1800.0,
)


@lru_cache(1000)
def verdict(word: str, at: float) -> Verdict:
    """Given a reason's word and the time, return the verdict of one check."""
    reason = Reason(word)
    level = LEVELS.get(reason, Level.ALIVE)
    return Verdict(COPY.backend, COPY.url, level, reason, f"found {word}", None, None, None, at)


@lru_cache(1000)
def unit(active: str, **facts: Any) -> UnitFacts:
    """Given a unit's state and what is special about it, return its facts."""
    given = {
        "sub": {"active": "running", "activating": "start-post", "failed": "failed"}.get(active, "dead"),
        "result": "start-limit-hit" if active == "failed" else "success",
        "run": 1,
        "restarts": 0,
        "since": 0.0,
    } | facts
    return UnitFacts(
        name=UNIT,
        load="loaded",
        active=active,
        sub=given["sub"],
        enabled="enabled",
        result=given["result"],
        main_pid=7 if active == "active" else 0,
        invocation=f"run-{given['run']}",
        fragment=f"/etc/systemd/system/{UNIT}",
        dropins=(),
        needs_reload=False,
        restarts=given["restarts"],
        since=given["since"],
        active_since=None,
        started=None,
        ended=None,
        killed=False,
        cgroup=f"/system.slice/{UNIT}",
        conflicts=(),
    )


def seen(what: dict[str, Any], at: float) -> Seen:
    """Given the words of a case, return what is seen at a time. `steps: grows` stands for a count that grows."""
    active = what.get("unit", "active")
    facts = {key: what[key] for key in ("sub", "result", "run", "restarts", "since") if key in what}
    counts = {key: at if value == "grows" else value for key, value in what["load"].items()} if "load" in what else None
    asked = active == "active" and what.get("engine", "ok") != "not asked"
    ending = what.get("ending")
    return Seen(
        unit=unit(active, **facts),
        at=at,
        wanted=what.get("wanted", True),
        verdict=verdict(what.get("engine", "ok"), 0.0) if asked else None,
        load=Load(**counts) if counts is not None and asked else None,
        connections=what.get("connections"),
        hold=what.get("hold", ""),
        conflicts=what.get("conflicts", {}),
        left=tuple(what.get("left", ())),
        strangers=tuple(what.get("strangers", ())),
        ending=Ending(ending, what.get("terminal", False), "the line") if ending else None,
    )


def box(what: dict[str, Any]) -> Box:
    """Given the words of a case, return the box."""
    return Box(what.get("epoch", 0), what.get("busy", ""), what.get("abandoned", ""), what.get("lease_ended", 0.0))
