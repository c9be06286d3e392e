"""A verdict for a person (one line), for a program (one object), and for a monitoring system (one state)."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from .verdict import Level, Reason, Verdict


class State(IntEnum):
    """The states of monitoring plugins, whose numbers are exit codes.

    https://www.monitoring-plugins.org/doc/guidelines.html#AEN78
    """

    OK = 0
    WARNING = 1
    CRITICAL = 2
    UNKNOWN = 3


_STATES = {
    Reason.OK: State.OK,
    Reason.SLOW: State.WARNING,
    Reason.DEGRADED: State.WARNING,
    Reason.PREFILLING: State.WARNING,
    Reason.LOADING: State.WARNING,
    Reason.UNPROVEN: State.WARNING,
    Reason.COLD: State.WARNING,
    Reason.AUTH_REQUIRED: State.UNKNOWN,  # alive, but without the right key nobody can tell
}


def state(verdict: Verdict) -> State:
    """Given a verdict, return the state that a monitoring system should show."""
    return _STATES.get(verdict.reason, State.CRITICAL)


def line(verdict: Verdict) -> str:
    """Given a verdict, return one plain line: state, who and where, why, and the load."""
    reason = "" if verdict.reason is Reason.OK else f"{verdict.reason.replace('_', ' ')}: "
    counts = (("running", verdict.running), ("waiting", verdict.waiting))
    known = [f"{name} {'unknown' if count is None else count}" for name, count in counts]
    load = f" ({', '.join(known)})" if (verdict.running, verdict.waiting) != (None, None) else ""
    return f"{state(verdict).name} {verdict.backend} at {verdict.url}: {reason}{verdict.evidence}{load}"


def document(verdict: Verdict) -> dict[str, Any]:
    """Given a verdict, return it as a JSON object of a stable shape.

    backend, url, reason, evidence: text · state: "OK", "WARNING", "CRITICAL" or "UNKNOWN" · level: 0 down, 1 alive,
    2 ready, 3 generates · latency: seconds until the health answer, or null · running, waiting: requests, or null ·
    healthy, restartable: true or false. Time is left out: a monotonic clock means nothing elsewhere.
    """
    return {
        "backend": verdict.backend,
        "url": verdict.url,
        "state": state(verdict).name,
        "level": int(verdict.level),
        "reason": str(verdict.reason),
        "evidence": verdict.evidence,
        "latency": verdict.latency,
        "running": verdict.running,
        "waiting": verdict.waiting,
        "healthy": verdict.healthy,
        "restartable": verdict.restartable,
    }


def from_document(found: dict[str, Any], at: float) -> Verdict:
    """Given what `document` returned, and the reader's own clock, return the verdict. Raise KeyError or ValueError if
    it is something else."""
    return Verdict(
        backend=found["backend"],
        url=found["url"],
        level=Level(found["level"]),
        reason=Reason(found["reason"]),
        evidence=found["evidence"],
        latency=found["latency"],
        running=found["running"],
        waiting=found["waiting"],
        at=at,
    )
