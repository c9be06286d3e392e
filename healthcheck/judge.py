"""What the looks and generations of one backend mean. Pure: the same history and sample give the same verdict."""

from __future__ import annotations

from dataclasses import replace

from .finding import find
from .history import History, after_generation, after_look
from .sample import Generation, Sample
from .target import Target
from .verdict import Level, Reason, Verdict

# Seconds between two generations asked of an idle backend that has not proven itself: soon, but not a stream of them.
_RETRY = 1.0

_UNFIT = frozenset(
    {
        Reason.REFUSED,
        Reason.UNREACHABLE,
        Reason.TIMED_OUT,
        Reason.AUTH_REQUIRED,
        Reason.SERVER_ERROR,
        Reason.HUNG,
        Reason.WRONG_MODEL,
        Reason.NOT_AN_ENGINE,
        Reason.LOADING,
    }
)


def judge(target: Target, history: History, sample: Sample) -> tuple[History, Verdict]:
    """Given what is remembered of a backend and a new look at it, return both the new memory and the verdict."""
    return _conclude(target, after_look(history, target, sample), sample.at)


def with_generation(history: History, generation: Generation) -> tuple[History, Verdict]:
    """Given the outcome of a generation asked of a backend, return the new memory and the verdict."""
    return _conclude(generation.target, after_generation(history, generation), generation.at)


def wants_generation(history: History, sample: Sample, now: float, every: float) -> bool:
    """Given the memory that `judge` returned for `sample`, say whether a generation should be asked for now.

    Only of a backend that is ready and idle by its own counts, whose last proof is older than `every` seconds (or that
    has none, or no speed yet); tokens made for others count as proof. A full or busy one is never asked. An engine
    without usable metrics may be full or idle: it is asked at most once in `every`, and a time-out is then not held
    against it (see `judge`).
    """
    if history.verdict is None or history.verdict.level < Level.READY:
        return False
    asked = None if history.asked_at is None else now - history.asked_at
    due = history.proof is None or now - history.proof.at >= every
    if sample.in_flight is None:
        if sample.metrics.fault is not None and history.load is not None:
            return False  # it has counts, they only did not come this time
        return due and (asked is None or asked >= every)
    if sample.in_flight > 0:
        return False
    if history.proof is None:
        return asked is None or asked >= _RETRY
    if history.unmeasured or history.verdict.reason is Reason.DEGRADED:
        return asked is None or asked >= every
    return due


def _conclude(target: Target, history: History, at: float) -> tuple[History, Verdict]:
    """Turn what is remembered into a verdict at time `at`, and remember that."""
    level, reason, evidence = find(target, history, at)
    sample = history.sample
    load = None if sample is None else sample.load
    verdict = Verdict(
        backend=target.name,
        url=target.url,
        level=level,
        reason=reason,
        evidence=evidence,
        latency=sample.health.seconds if sample is not None and sample.health.whole else None,
        running=None if load is None or load.running is None else int(load.running),
        waiting=None if load is None or load.waiting is None else int(load.waiting),
        at=at,
    )
    unmeasured = target.min_speed is not None and history.measured is None
    failures = history.failures + 1 if reason in _UNFIT else 0
    return replace(history, verdict=verdict, failures=failures, unmeasured=unmeasured), verdict
