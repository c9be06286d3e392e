"""Waits until an engine generates, tells how it is getting on, and gives up on what waiting cannot mend."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import httpx

from floor.errors import FloorError
from floor.healthcheck.history import History
from floor.healthcheck.judge import judge, wants_generation, with_generation
from floor.healthcheck.probe import generate, look
from floor.healthcheck.target import Target
from floor.healthcheck.verdict import Level, Reason, Verdict

LOOK_EVERY = 0.5  # seconds; what is waited for takes minutes, and the copy should serve as soon as it can
TELL_EVERY = 15.0  # seconds between two lines of progress when nothing changes
GENERATION_TIMEOUT = 300.0  # seconds; the first token of a start may wait for kernels to be compiled

# Seconds for which a finding that waiting does not mend must last: long enough that it is no moment of a start.
HOPELESS = {
    Reason.AUTH_REQUIRED: 10.0,
    Reason.WRONG_MODEL: 10.0,
    Reason.NOT_AN_ENGINE: 30.0,
    Reason.SERVER_ERROR: 60.0,
    Reason.HUNG: 600.0,  # beyond the stall limit: a first token may wait for kernels to be compiled
}
_TO_DO = {
    Reason.AUTH_REQUIRED: "the engine was started with another key; `floor deploy` gives both the same",
    Reason.WRONG_MODEL: "the unit starts another model, or another program holds its port",
    Reason.NOT_AN_ENGINE: "another program holds its port",
    Reason.SERVER_ERROR: "it starts, but fails to generate; its log says why",
    Reason.HUNG: "it takes requests and does nothing; its log says why",
}

Clock = Callable[[], float]
Pause = Callable[[float], Awaitable[None]]
Log = Callable[[str], None]


async def until_it_generates(client: httpx.AsyncClient, target: Target, clock: Clock, pause: Pause, log: Log) -> None:
    """Given the engine to wait for, return when a token has come out of it. Waits for ever: the caller bounds it.

    Raise FloorError for a finding that lasts and that no waiting mends.
    """
    progress = Progress(target.name, clock(), log)
    history = History()
    while True:
        sample = await look(client, target, clock=clock)
        history, verdict = judge(target, history, sample)
        if wants_generation(history, sample, clock(), LOOK_EVERY):
            generation = await generate(client, target, clock=clock, timeout=GENERATION_TIMEOUT)
            history, verdict = with_generation(history, generation)
        if verdict.level is Level.GENERATES:
            return
        progress.take(verdict, clock())
        await pause(LOOK_EVERY)


class Progress:
    """What was found while waiting, and since when; tells it at every change and now and then."""

    def __init__(self, name: str, began: float, log: Log) -> None:
        self._name, self._began, self._log = name, began, log
        self._reason: Reason | None = None
        self._since = began
        self._told = began

    def take(self, verdict: Verdict, now: float) -> None:
        """Given a new finding, tell it if it is time to. Raise FloorError if waiting longer is of no use."""
        changed = verdict.reason is not self._reason
        if changed:
            self._reason, self._since = verdict.reason, now
        if changed or now - self._told >= TELL_EVERY:
            self._told = now
            self._log(
                f"{self._name}: waiting for engine: {verdict.reason}, {now - self._began:.0f} s; {verdict.evidence}"
            )
        limit = HOPELESS.get(verdict.reason)
        if limit is not None and now - self._since >= limit:
            raise FloorError(f"{self._name}: {verdict.reason}: {verdict.evidence}; {_TO_DO[verdict.reason]}")
