"""Check one backend once, in bounded time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from time import monotonic

import httpx

from .ask import Clock
from .history import History
from .judge import judge, wants_generation, with_generation
from .probe import generate, look
from .sample import Fault
from .target import Target
from .verdict import Level, Reason, Verdict

Pause = Callable[[float], Awaitable[None]]

_STEP = 0.5  # seconds between two looks at a busy or late backend
_PASSING = frozenset({Reason.TIMED_OUT, Reason.SLOW})  # may be over in a moment: busy is not down
_LAST_LOOK = 0.9  # seconds for the look after a generation that ran out of time: the whole stays within timeout + 1 s


async def check(
    client: httpx.AsyncClient,
    target: Target,
    *,
    timeout: float = 10.0,  # noqa: ASYNC109 - running out of time is a finding here, not an exception
    window: float = 5.0,
    clock: Clock = monotonic,
    pause: Pause = asyncio.sleep,
) -> Verdict:
    """Look at a backend; if it is idle ask one token of it, if it is busy or late look again until its counts move.

    `timeout` bounds the whole (it ends within `timeout` + 1 s), `window` the looking again, both in seconds.
    Return the verdict; nothing is raised for what a backend does.
    """
    return (await examine(client, target, timeout=timeout, window=window, clock=clock, pause=pause))[1]


async def examine(
    client: httpx.AsyncClient,
    target: Target,
    *,
    timeout: float = 10.0,  # noqa: ASYNC109 - running out of time is a finding here, not an exception
    window: float = 5.0,
    clock: Clock = monotonic,
    pause: Pause = asyncio.sleep,
) -> tuple[History, Verdict]:
    """As `check`, and return also what was seen on the way: the engine's own counts are in it."""
    ends = clock() + timeout
    target = replace(target, probe_timeout=min(target.probe_timeout, timeout))
    watched = min(ends, clock() + window)
    history, verdict = History(), None
    while True:
        left = max(0.05, ends - clock())
        sample = await look(client, replace(target, probe_timeout=min(target.probe_timeout, left)), clock=clock)
        history, verdict = judge(target, history, sample)
        now = clock()
        if verdict.level is Level.GENERATES or (verdict.level < Level.READY and verdict.reason not in _PASSING):
            return history, verdict
        if wants_generation(history, sample, now, every=0.0):
            return await _ask(client, target, history, within=ends - now, clock=clock)
        if now + _STEP >= watched:
            return history, verdict
        await pause(_STEP)


async def _ask(
    client: httpx.AsyncClient, target: Target, history: History, *, within: float, clock: Clock
) -> tuple[History, Verdict]:
    """Ask for a token; when none came in time, look once more whether others filled the engine meanwhile."""
    generation = await generate(client, target, clock=clock, timeout=max(0.05, within))
    before = history
    history, verdict = with_generation(history, generation)
    if generation.answer.fault is not Fault.TIMED_OUT or verdict.reason is Reason.OK:
        return history, verdict
    hurried = replace(target, probe_timeout=min(target.probe_timeout, _LAST_LOOK))
    sample = await look(client, hurried, clock=clock)
    crowded = (sample.in_flight or 0) > 1
    return judge(target, before if crowded else history, sample)
