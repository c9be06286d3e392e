"""From what is seen of one backend to where it stands: serving, held, weak or gone. Pure.

Refused, timed out and slow are told apart here for good: a queue is never a reason to take a copy away, a dead one is.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from floor.healthcheck.verdict import Reason

from .memory import Memory, Seen, UnitSeen, serves

# One lost packet makes one look fail, as a connection attempt of 1 s has a single retransmission. Two looks in a row
# without a way there take 2 s at most, which leaves one for the interval and nginx: out within 3 s of a power cut.
MISSES = 2

# Seconds of nothing but server errors. A failed generation is asked again after 1 s, so this is at least two of them;
# one 500 among answers is a client's own doing as often as the engine's.
ERRORS = 2.0


class Standing(Enum):
    """What may become of a backend."""

    SERVES = auto()
    """Proven: it generates now, or has and is busy."""
    HOLD = auto()
    """Not enough is known to move it: a member stays, others wait."""
    WEAK = auto()
    """Stalled, without its GPU or without the model in memory: out, unless no member that serves would be left."""
    GONE = auto()
    """It cannot serve: out at once, the last one too."""
    DRAINED = auto()
    """Somebody decided that it must be out."""


@dataclass(frozen=True)
class Finding:
    """Where a backend stands: `reason` in a word or two, `evidence` in a sentence."""

    standing: Standing
    reason: str
    evidence: str


_GONE = frozenset({Reason.REFUSED, Reason.WRONG_MODEL, Reason.NOT_AN_ENGINE, Reason.AUTH_REQUIRED, Reason.LOADING})
_WEAK = frozenset({Reason.HUNG, Reason.DEGRADED, Reason.COLD})


def stand(memory: Memory, seen: Seen, now: float) -> Finding:
    """Given a backend's memory with the newest verdict counted, and what is seen of it, return where it stands."""
    if seen.drains:
        return Finding(Standing.DRAINED, "drained", f"drained by {', '.join(seen.drains)}")
    if seen.leaving:
        # Before the unit: being stopped is no fault, and the last one goes too.
        return Finding(Standing.DRAINED, "leaving", seen.leaving)
    if seen.broken is not None:
        return Finding(Standing.GONE, *seen.broken)
    if seen.unit is not None and not seen.unit.up:
        return _unit_down(seen.unit)
    if seen.verdict is None:
        return Finding(Standing.HOLD, "not looked at", "not looked at yet")
    return Finding(_by_verdict(memory, seen, now), str(seen.verdict.reason), seen.verdict.evidence)


def _by_verdict(memory: Memory, seen: Seen, now: float) -> Standing:
    verdict = seen.verdict
    assert verdict is not None  # noqa: S101 -- the caller has looked
    if verdict.reason in _GONE:
        return Standing.GONE
    if verdict.reason is Reason.UNREACHABLE:
        return Standing.GONE if memory.misses >= MISSES else Standing.HOLD
    if memory.failing_since is not None:
        return Standing.GONE if now - memory.failing_since >= ERRORS else Standing.HOLD
    if verdict.reason in _WEAK:
        return Standing.WEAK
    if serves(verdict):
        return Standing.SERVES
    stalled = memory.unproven_since is not None and now - memory.unproven_since > seen.stall
    return Standing.WEAK if stalled else Standing.HOLD


def _unit_down(unit: UnitSeen) -> Finding:
    if unit.active == "activating":
        return Finding(Standing.GONE, "starting", f"{unit.name} is starting or warming up ({unit.sub})")
    ended = f", {unit.result}" if unit.result not in ("", "success") else ""
    return Finding(Standing.GONE, f"unit {unit.active}", f"{unit.name} is {unit.active} ({unit.sub}{ended})")
