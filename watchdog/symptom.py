"""Which findings may ever lead to a restart, and how long each must last. Pure."""

from __future__ import annotations

from enum import StrEnum, auto

from floor.healthcheck.verdict import Level, Reason

from .seen import Seen
from .settings import Copy


class Symptom(StrEnum):
    """What is wrong with an engine whose unit runs, where a restart helps."""

    REFUSES = auto()
    """Nobody listens on its port though its unit is up."""
    ERRORS = auto()
    """It answers with nothing but server errors."""
    STANDS_STILL = auto()
    """It takes requests, or holds some, and nothing moves."""
    SAYS_NOTHING = auto()
    """A token that was asked for does not come, and it does not tell whether others are before it."""


# A busy engine is late or silent; so is a hung one. Only the time without progress tells them apart.
_STILL = frozenset({Reason.TIMED_OUT, Reason.HUNG, Reason.PREFILLING})

LOOKS = 3  # in a row: one lost answer is none
REFUSED = 60.0  # seconds: a port that is closed while the process lives does not open again by itself
ERRORS = 120.0  # seconds


def symptom(seen: Seen) -> Symptom | None:
    """Given a copy that was asked, return its symptom, None where a restart would not help or is not called for.

    A missing key, another model, a foreign program, a load that goes on, slowness, and a way that is closed are
    repaired elsewhere, whatever they last.
    """
    verdict = seen.verdict
    if verdict is None or verdict.level is Level.GENERATES:
        return None
    if verdict.reason is Reason.REFUSED:
        return Symptom.REFUSES
    if verdict.reason is Reason.SERVER_ERROR:
        return Symptom.ERRORS
    if verdict.reason in _STILL:
        return Symptom.STANDS_STILL
    if verdict.reason is Reason.SLOW and verdict.level is Level.READY:
        return Symptom.SAYS_NOTHING
    return None


def limit(found: Symptom, seen: Seen, copy: Copy) -> float:
    """Given a symptom, what is seen and the copy's settings, return for how many seconds it must last.

    While it may hold streams nothing short of the stall limit ends them. One that does not tell what it works on may
    have a queue, in which nothing waits longer than the longest request.
    """
    if found is Symptom.SAYS_NOTHING:
        return max(copy.stall, copy.request_time)
    short = {Symptom.REFUSES: REFUSED, Symptom.ERRORS: ERRORS}.get(found, copy.stall)
    return max(short, copy.stall) if _streams(seen) else short


def _streams(seen: Seen) -> bool:
    """Whether somebody may be reading an answer of it: by its own count, else by the connections to its port."""
    held = None if seen.load is None else seen.load.in_flight
    return bool(seen.connections if held is None else held)
