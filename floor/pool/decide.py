"""Which backends of one model may be used now. Pure: memory and what is seen in, members and reasons out.

Out: gone and drained at once. Weak ones only while another member serves, so slowness never empties a pool, and two
slow ones both stay. In: proven ones, after the wait below; if nobody is left, one that generates without its GPU.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from floor.healthcheck.verdict import Reason

from .memory import Memory, Seen, remember, settle
from .standing import Finding, Standing, stand

# Seconds of serving without a break before a backend returns, by how often it went out for a fault within ten minutes.
# The first time none: one accident is no pattern. From then on growing, so that a bad cable cannot make nginx reload
# (and old workers pile up) more than about once a minute; never longer, because a copy that serves should be used.
FLAP_DELAYS = (0.0, 0.0, 5.0, 15.0, 30.0, 60.0)

# Seconds of serving without a break before a managed copy returns whose box does not tell whether it is warm: longer
# than a pause between two requests of a warm-up, which look like serving from outside.
UNSEEN_DELAY = 10.0

# Seconds after a backend began to serve from which on its unit must have been asked: what a box tells is up to half a
# second old, and a process that was started meanwhile serves under a unit that is told as active still.
TOLD_AGE = 0.5

# Looks in a row that must find an unmanaged backend serving: nobody tells when it is warm, and one look may hit a
# moment between two failures.
UNMANAGED_LOOKS = 3

# The longest that a backend which serves steadily is kept waiting, whatever went before.
LONGEST_WAIT = max(FLAP_DELAYS[-1], UNSEEN_DELAY)


@dataclass(frozen=True)
class Decision:
    """Whether a backend is a member from now on, and why."""

    member: bool
    standing: Standing
    reason: str
    evidence: str


def decide(
    memories: Mapping[str, Memory], seen: Mapping[str, Seen], now: float
) -> tuple[dict[str, Memory], dict[str, Decision]]:
    """Given each backend's memory (none for a new one) and what is seen of all of one model's, return both anew.

    `now` is the monotonic clock that the verdicts' `at` come from.
    """
    known = {name: remember(memories.get(name, Memory()), one.verdict, now) for name, one in seen.items()}
    found = {name: stand(known[name], one, now) for name, one in seen.items()}
    waits = {name: _wait(known[name], one, now) for name, one in seen.items()}
    members = _members(known, found, waits)
    decisions = {name: _decision(known[name], found[name], waits[name], member=name in members) for name in seen}
    settled = {
        name: settle(
            known[name],
            one,
            member=name in members,
            fault=found[name].standing in (Standing.GONE, Standing.WEAK),
            now=now,
        )
        for name, one in seen.items()
    }
    return settled, decisions


def _members(known: Mapping[str, Memory], found: Mapping[str, Finding], waits: Mapping[str, float]) -> set[str]:
    """Return who is in."""
    now_in = {name for name, memory in known.items() if memory.member}
    serving = {
        name
        for name, finding in found.items()
        if finding.standing is Standing.SERVES and (name in now_in or waits[name] <= 0)
    }
    members = serving | {name for name in now_in if found[name].standing is Standing.HOLD}
    if not serving:
        members |= {name for name in now_in if found[name].standing is Standing.WEAK}
    if not members:
        members = {name for name, finding in found.items() if finding.reason == Reason.DEGRADED}
    return members


def _wait(memory: Memory, seen: Seen, now: float) -> float:
    """Return the seconds that a backend which is out must still serve before it returns; 0 or less: none."""
    if memory.steady_since is None or (not seen.managed and memory.steady < UNMANAGED_LOOKS):
        return math.inf
    served = now - memory.steady_since
    # Whoever was drained returns as it went: a decision is no fault.
    flaps = FLAP_DELAYS[min(len(memory.outs), len(FLAP_DELAYS) - 1)] if memory.faulted else 0.0
    if seen.unit is None:
        return (max(flaps, UNSEEN_DELAY) if seen.managed else flaps) - served
    if seen.told < memory.steady_since + TOLD_AGE:
        return math.inf
    # A new start has nothing to do with the faults of the process before it, and its unit says that it is warm.
    return (flaps if seen.unit.invocation == memory.served else 0.0) - served


def _decision(memory: Memory, finding: Finding, wait: float, *, member: bool) -> Decision:
    standing, reason, evidence = finding.standing, finding.reason, finding.evidence
    if member and standing is Standing.WEAK:
        evidence = f"{evidence}; stays, as no member that serves would be left"
    elif not member and standing is Standing.SERVES:
        left = "a moment" if math.isinf(wait) else f"{wait:.1f} s"
        reason, evidence = (
            "settling",
            f"{evidence}; must go on for {left} more ({len(memory.outs)} faults in 10 minutes)",
        )
    return Decision(member, standing, reason, evidence)
