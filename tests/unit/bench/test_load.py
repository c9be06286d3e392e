"""Load as it is asked for, by a clock that goes on only while something waits."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable

import pytest

from floor.bench import load
from floor.bench.level import Level, Record
from floor.bench.load import TOO_SLOW, open_

real_sleep = asyncio.sleep


class Clock:
    """Seconds; `sleep` takes them, and each beginning of a request takes `cost` more."""

    def __init__(self, cost: float) -> None:
        self.now, self.cost = 0.0, cost

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        until = self.now + seconds
        await real_sleep(0)
        self.now = max(self.now, until)

    async def send(self, _number: int) -> Record:
        self.now += self.cost
        return Record(self.now, self.now + 0.1, first=self.now, last=self.now + 0.1, tokens=5)


def opened(
    rate: float, cost: float, seconds: float = 10.0, waits: Callable[[float], float] = lambda rate: 1 / rate
) -> Level:
    clock = Clock(cost)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(load.asyncio, "sleep", clock.sleep)
        return asyncio.run(open_(clock.send, rate, seconds, clock, waits, itertools.count()))


@pytest.mark.parametrize(("rate", "cost"), [(0.5, 0.0), (50.0, 0.0), (50.0, 0.015), (800.0, 0.001)])
def test_a_rate_is_the_one_that_is_asked_for(rate: float, cost: float) -> None:
    """What beginning one costs is no part of the wait for the next."""
    found = opened(rate, cost)
    assert found.requests == pytest.approx(rate * 10, abs=2, rel=0.02)
    assert (found.at, found.errors) == (rate, 0)


def test_a_machine_that_cannot_begin_so_many_says_so() -> None:
    """It would report less load under the name of more."""
    found = opened(100.0, 0.05)
    assert found.error == TOO_SLOW
    assert found.failing > load.HOPELESS
