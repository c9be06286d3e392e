"""One level of load: so many requests at once (closed loop), or so many begun a second (open loop)."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from .level import Level, Record, level

Send = Callable[[int], Awaitable[Record]]
"""Given a request's number, send it and return what came of it."""
SETTLE = 0.2  # the part of a level's time before it is measured: its requests begin together, and come apart only then
PAUSE = 0.2  # seconds after a request that failed: who is turned away at once must not become a flood
HOPELESS = 0.2  # a level where more of the requests fail is ended
LATE = 1.0  # seconds after it was due at which a request is not begun any more: it would be another load
TOO_SLOW = "this machine is too slow to begin them when they are due; ask from another one"
ENOUGH = 10  # requests, before that is judged


@dataclass
class _Run:
    """What a level has sent so far."""

    records: list[Record]
    numbers: itertools.count[int]

    @property
    def hopeless(self) -> bool:
        wrong = sum(1 for record in self.records if record.error)
        return len(self.records) >= ENOUGH and wrong > HOPELESS * len(self.records)


async def closed(
    send: Send, at: int, seconds: float, clock: Callable[[], float], numbers: itertools.count[int] | None = None
) -> Level:
    """Keep `at` requests under way for `seconds`, let the last ones end, and return what it came to."""
    run = _Run([], numbers or itertools.count())
    began = clock()

    async def worker() -> None:
        while clock() - began < seconds and not run.hopeless:
            record = await send(next(run.numbers))
            run.records.append(record)
            if record.error:
                await asyncio.sleep(PAUSE)

    await asyncio.gather(*(worker() for _ in range(at)))
    return level(at, run.records, began + SETTLE * seconds, began + seconds)


async def open_(
    send: Send,
    rate: float,
    seconds: float,
    clock: Callable[[], float],
    waits: Callable[[float], float],
    numbers: itertools.count[int] | None = None,
) -> Level:
    """Begin `rate` requests a second for `seconds`, whether or not those before have ended, and return what it came to.
    `waits` gives the seconds to the next one from the rate (random.expovariate).

    Each is due so long after the one before was due, not after it was begun: the rate is the one that is asked for. One
    that cannot be begun in time has failed.
    """
    run = _Run([], numbers or itertools.count())
    began = due = clock()

    async def one(due: float) -> None:
        if (now := clock()) - due > LATE:
            run.records.append(Record(now, now, error=TOO_SLOW))
        else:
            run.records.append(await send(next(run.numbers)))

    async with asyncio.TaskGroup() as group:
        while (now := clock()) - began < seconds and not run.hopeless:
            while due <= now:
                group.create_task(one(due))
                due += waits(rate)
            await asyncio.sleep(max(0.0, min(due, began + seconds) - clock()))
    return level(rate, run.records, began + SETTLE * seconds, began + seconds)
