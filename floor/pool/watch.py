"""Looks at one backend, or one box's status port, again and again. Each has its own loop: a slow one delays nobody."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol

import httpx

from floor.box import parts
from floor.errors import FloorError
from floor.healthcheck.history import History
from floor.healthcheck.judge import judge, wants_generation, with_generation
from floor.healthcheck.probe import generate, look
from floor.healthcheck.target import Target
from floor.healthcheck.verdict import Level, Reason, Verdict

from . import boxes
from .memory import UnitSeen
from .missed import Told

Clock = Callable[[], float]


class Ask(Protocol):
    """How a status port is asked: see `boxes.ask`."""

    def __call__(self, url: str, key: str, *, asked: float, within: float) -> Awaitable[boxes.Status]: ...


# Seconds that one look may take, connecting included. A connection attempt is repeated by the kernel after 1 s, so more
# would not find a box that 0.9 does not; and three looks (one cut off half-way, two without a connection) fit in 3 s.
PROBE_TIMEOUT = 0.9

# Seconds beyond that after which a look says more of this process (stopped, starved) than of the backend.
LATE = 0.5
_MOST_LATE = 3  # in a row; a box that is always late has to take its looks as they are

# Seconds without any sign of tokens after which an idle backend is asked for one. It costs the engine one token.
PROOF_EVERY = 30.0
# Seconds for that: an idle engine takes one. No other is asked for meanwhile, so one whose request got lost on the way
# (the box was gone for a moment) is proven that much later.
GENERATION_TIMEOUT = 10.0

STATUS_TIMEOUT = 1.5  # seconds; a box whose systemd is busy needs half of one
STATUS_FRESH = 3.0  # seconds for which an answer is believed: two looks and a timeout
HURRY = 0.1  # seconds between two questions while an engine of the box answers whose unit is not up yet
HURRIED = 60.0  # seconds for which that is worth it: a warm-up


class BackendWatch:
    """The newest verdict on one backend; `changed` is called when its level or reason is another one.

    `following` is the backend with the engine key that is to follow: while a key is being replaced, a backend that does
    not take the one is asked with the other, at once. `follows` tells whether that was the one it took last; None while
    nobody knows.
    """

    def __init__(
        self,
        client: httpx.AsyncClient,
        target: Target,
        interval: float,
        clock: Clock,
        changed: Callable[[], None],
        following: Target | None = None,
    ) -> None:
        self._present, self._following = target, following
        self.follows: bool | None = None
        self._client, self._target, self._interval = client, target, interval
        self._clock, self._changed = clock, changed
        self._history = History()
        self._late = 0
        self._generation: asyncio.Task[None] | None = None
        self.verdict: Verdict | None = None

    def renew(self) -> None:
        """Forget what was proven, and what was asked: the backend's unit was started again."""
        self._history = History()
        self._give_up()

    async def run(self) -> None:
        """Look until cancelled. A look that took longer than the interval is followed by the next one at once."""
        try:
            while True:
                began = self._clock()
                await self._look(began)
                await asyncio.sleep(max(0.0, self._interval - (self._clock() - began)))
        finally:
            self._give_up()

    async def _look(self, began: float) -> None:
        sample = await look(self._client, self._target, clock=self._clock)
        if sample.at - began > PROBE_TIMEOUT + LATE and self._late < _MOST_LATE:
            self._late += 1
            return
        self._late = 0
        history, verdict = judge(self._target, self._history, sample)
        if verdict.reason is Reason.AUTH_REQUIRED and self._following is not None:
            other = self._following if self._target is not self._following else self._present
            sample = await look(self._client, other, clock=self._clock)
            history, verdict = judge(other, self._history, sample)
            self._target = other
        if sample.models.ok:
            self.follows = self._target is self._following
        self._history = history
        self._take(verdict)
        if verdict.level is Level.DOWN:
            self._give_up()  # it will not be answered, and must not be waited for when the backend is there again
        if self._generation is not None and self._generation.done():
            self._generation.result()  # it is still there: raises what went wrong, a fault of ours
        if self._generation is None and wants_generation(self._history, sample, self._clock(), PROOF_EVERY):
            self._generation = asyncio.create_task(self._generate())

    async def _generate(self) -> None:
        load = self._history.load
        # One that loads its model when it is asked for it and does not tell how busy it is may need a load, a queue.
        patient = load is not None and load.resident is not None
        within = max(GENERATION_TIMEOUT, self._target.stall) if patient else GENERATION_TIMEOUT
        generation = await generate(self._client, self._target, clock=self._clock, timeout=within)
        self._generation = None
        self._history, verdict = with_generation(self._history, generation)
        self._take(verdict)

    def _give_up(self) -> None:
        if self._generation is not None:
            self._generation.cancel()
            self._generation = None

    def _take(self, verdict: Verdict) -> None:
        before, self.verdict = self.verdict, verdict
        if before is None or (before.level, before.reason) != (verdict.level, verdict.reason):
            self._changed()


class Unaskable:
    """In the place of a watch, for a backend that this version cannot ask: it is out, and the others are served."""

    def __init__(self, backend: str, url: str, why: str, now: float) -> None:
        self.verdict: Verdict | None = Verdict(
            backend, url, Level.DOWN, Reason.NOT_AN_ENGINE, f"cannot be asked: {why}", None, None, None, now
        )

    follows: bool | None = None

    def renew(self) -> None:
        """Nothing was proven."""

    async def run(self) -> None:
        """Nothing is asked."""


class BoxWatch:
    """The newest answer of one status port; `changed` is called when a unit's state is another one."""

    def __init__(
        self,
        url: str,
        key: str,
        interval: float,
        clock: Clock,
        changed: Callable[[], None],
        log: Callable[[str], None],
        ask: Ask = boxes.ask,
        following: str | None = None,
    ) -> None:
        self._following = following
        self._url, self._key, self._interval, self._ask = url, key, interval, ask
        self._clock, self._changed, self._log = clock, changed, log
        self._said = ""
        self._status: boxes.Status | None = None
        self._since = clock()
        self._soon: dict[str, float] = {}

    @property
    def answered(self) -> float | None:
        """When the box was asked that answered last; None if it never did."""
        return None if self._status is None else self._status.asked

    @property
    def told(self) -> Told:
        """What the box told last of others, however long ago: silence ends nothing."""
        return Told() if self._status is None else self._status.told

    def silent(self) -> float:
        """For how many seconds the box has told nothing, since this service began to ask."""
        since = self._since if self._status is None else self._status.asked
        return self._clock() - since

    def part(self, model: str) -> parts.Told | None:
        """Given a model, return what the box tells of its part of that group; None where it tells nothing now."""
        if self._status is None or self._clock() - self._status.asked > STATUS_FRESH:
            return None
        return self._status.groups.get(model)

    @property
    def address(self) -> Mapping[str, Any] | None:
        """What the box tells of the shared address; None if it has not told for `STATUS_FRESH` seconds."""
        fresh = self._status is not None and self._clock() - self._status.asked <= STATUS_FRESH
        return self._status.address if fresh and self._status else None

    def unit(self, name: str) -> UnitSeen | None:
        """Given a unit's name, return its state; None if the box has not told for `STATUS_FRESH` seconds."""
        if self._status is None or self._clock() - self._status.asked > STATUS_FRESH:
            return None
        return self._status.units.get(name)

    def leaving(self, name: str) -> str:
        """Given a unit's name, say in words that it is about to stop; empty where the box does not tell so."""
        if self._status is None or self._clock() - self._status.asked > STATUS_FRESH:
            return ""
        if self._status.stopping:
            return "its box goes down"
        return f"{name} is being stopped, and finishes what it has" if name in self._status.leaving else ""

    def hurry(self, name: str, *, soon: bool) -> None:
        """Given a unit of the box and whether it may be up at any moment, ask more often, for a while."""
        if soon:
            self._soon.setdefault(name, self._clock())
        else:
            self._soon.pop(name, None)

    async def run(self) -> None:
        """Ask until cancelled."""
        while True:
            began = self._clock()
            try:
                status = await self._answer(began)
            except FloorError as error:
                self._say(str(error))
            else:
                if self._said:
                    self._say("")
                    self._log(f"{self._url}: answers again")
                before, self._status = self._status, status
                if before is None or replace(before, asked=began) != status:
                    self._changed()
            hurried = any(self._clock() - since < HURRIED for since in self._soon.values())
            every = min(HURRY, self._interval) if hurried else self._interval
            await asyncio.sleep(max(0.0, every - (self._clock() - began)))

    async def _answer(self, began: float) -> boxes.Status:
        """Ask with the key that was taken last, and with the other one where it is being replaced."""
        try:
            return await self._ask(self._url, self._key, asked=began, within=STATUS_TIMEOUT)
        except boxes.StrangerError:
            if self._following is None:
                raise
            self._key, self._following = self._following, self._key
            return await self._ask(self._url, self._key, asked=began, within=STATUS_TIMEOUT)

    def _say(self, words: str) -> None:
        if words and words != self._said:
            self._log(f"{words} Until then its copies are judged by what they answer themselves.")
        self._said = words
