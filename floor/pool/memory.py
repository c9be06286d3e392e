"""What is seen of a backend at one moment, and what the pool remembers of it from one moment to the next. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from floor.healthcheck.verdict import Level, Reason, Verdict

FLAP_WINDOW = 600.0  # seconds; an engine's start takes minutes, so failures further apart are accidents, no pattern
_MOST_OUTS = 16  # remembered ones; the longest delay is reached long before


@dataclass(frozen=True)
class UnitSeen:
    """A unit as the status port of its box tells. `invocation` is new at every start (systemd's InvocationID)."""

    name: str
    active: str
    sub: str
    result: str
    invocation: str

    @property
    def up(self) -> bool:
        """Active, which means warmed up: the unit's ExecStartPost ends when the engine has generated and is warm."""
        return self.active in ("active", "reloading", "refreshing")


@dataclass(frozen=True)
class Seen:
    """One backend at one moment.

    `verdict` is the newest (None: not looked at yet), `drains` the holders that count, `managed` whether floor runs its
    unit, `unit` what the status port says of that (None: it does not answer) and `told` when it was asked, `stall` the
    backend's limit in seconds. `leaving` says in words that it, or its whole box, is about to stop. `broken` says in a
    word and in a sentence why a group is not whole (floor/pool/group.py); `unit` is its head's.
    """

    verdict: Verdict | None
    drains: tuple[str, ...]
    managed: bool
    unit: UnitSeen | None
    told: float
    stall: float
    leaving: str = ""
    broken: tuple[str, str] | None = None


@dataclass(frozen=True)
class Memory:
    """One backend's past. All times are the monotonic clock of the pool's box.

    `served` is the invocation under which it was last a member, `outs` are the times when it went out for a fault, and
    `faulted` is whether it did so the last time. A restart of the pool keeps `member`, `since`, `served`, `outs` and
    `faulted`; the rest is seen again within seconds.
    """

    member: bool = False
    since: float = -math.inf
    served: str = ""
    outs: tuple[float, ...] = ()
    faulted: bool = False
    looked: float = -math.inf
    """`at` of the newest verdict that has been counted."""
    misses: int = 0
    """Looks in a row that found no way to the box."""
    failing_since: float | None = None
    """Start of the unbroken run of looks that found server errors."""
    unproven_since: float | None = None
    """Start of the unbroken run of looks that did not find it generating."""
    steady_since: float | None = None
    """Start of the unbroken run of looks that found it serving."""
    steady: int = 0
    """Looks in that run."""


def serves(verdict: Verdict) -> bool:
    """Whether a look found that it generates, fast or slow, and nothing wrong with it."""
    return verdict.level is Level.GENERATES and verdict.reason in (Reason.OK, Reason.SLOW, Reason.PREFILLING)


def remember(memory: Memory, verdict: Verdict | None, now: float) -> Memory:
    """Given the newest verdict, return the memory with it. One that has been counted already counts once."""
    memory = replace(memory, outs=tuple(at for at in memory.outs if now - at < FLAP_WINDOW))
    if verdict is None or verdict.at <= memory.looked:
        return memory
    steady = serves(verdict)
    failing = verdict.reason is Reason.SERVER_ERROR and verdict.level is not Level.GENERATES
    return replace(
        memory,
        looked=verdict.at,
        misses=memory.misses + 1 if verdict.reason is Reason.UNREACHABLE else 0,
        failing_since=_run(memory.failing_since, failing, verdict.at),
        unproven_since=_run(memory.unproven_since, verdict.level is not Level.GENERATES, verdict.at),
        steady_since=_run(memory.steady_since, steady, verdict.at),
        steady=memory.steady + 1 if steady else 0,
    )


def settle(memory: Memory, seen: Seen, *, member: bool, fault: bool, now: float) -> Memory:
    """Given whether it is a member from now on, and whether a fault took it out, return the memory with that."""
    if memory.member and not member and fault:
        memory = replace(memory, outs=(*memory.outs, now)[-_MOST_OUTS:], faulted=True)
    elif member:
        memory = replace(memory, faulted=False)
    if member and seen.unit is not None and seen.unit.up:
        memory = replace(memory, served=seen.unit.invocation)
    return memory if memory.member is member else replace(memory, member=member, since=now)


def _run(since: float | None, goes_on: bool, at: float) -> float | None:
    if not goes_on:
        return None
    return at if since is None else since
