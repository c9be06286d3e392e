"""The scheduler on a loop's clock: here a clock that the test turns, so that nobody sleeps."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from floor.sim.asking import Asked, decide_chat
from floor.sim.engine import Engine
from floor.sim.page import bounds_of
from floor.sim.settings import Settings, Simulation
from floor.sim.stats import Stats

SETTINGS = Settings(served_names=("m",), max_num_seqs=2, simulation=Simulation(prefill_rate=1e9))


class Clock:
    """Seconds that pass only when the test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def ask(tokens: int, **more: Any) -> Asked:
    content = {"messages": [{"role": "user", "content": "x"}], "max_tokens": tokens, "ignore_eos": True, **more}
    return decide_chat(content, SETTINGS, ("m",))


def on_a_loop(test: Callable[[Engine, Clock], None], settings: Settings = SETTINGS) -> Stats:
    """Run `test` within a loop whose timers never fire: time is a million seconds ahead of the clock."""

    async def run() -> Stats:
        clock, stats = Clock(), Stats(bounds_of(2048))
        loop = asyncio.get_running_loop()
        loop.time = lambda: -1e6  # type: ignore[method-assign]
        test(Engine(settings, stats, clock), clock)
        return stats

    return asyncio.run(run())


def drained(engine: Engine, clock: Clock, seconds: float) -> None:
    """Let time pass, and have the engine notice."""
    clock.now += seconds
    engine.delay(0)


def test_tokens_come_when_they_are_due_and_an_end_after_the_last() -> None:
    def test(engine: Engine, clock: Clock) -> None:
        generation = engine.submit(ask(3))
        assert generation.due.empty()
        drained(engine, clock, 1)
        assert [generation.due.get_nowait() for _ in range(4)] == [0, 0, 0, None]
        assert (generation.outcome, generation.generated, engine.finished) == ("finished", 3, 1)

    stats = on_a_loop(test)
    assert stats.counters["vllm:request_success_total", (("finished_reason", "length"),)] == 1


def test_choices_share_the_slots_and_end_together() -> None:
    def test(engine: Engine, clock: Clock) -> None:
        generation = engine.submit(ask(2, n=3))
        assert (len(engine.scheduler.running), len(engine.scheduler.waiting)) == (2, 1)
        drained(engine, clock, 10)
        due = [generation.due.get_nowait() for _ in range(7)]
        assert sorted(due[:6], key=str) == [0, 0, 1, 1, 2, 2]
        assert due[6] is None

    on_a_loop(test)


def test_an_abort_frees_the_slots_and_counts_once() -> None:
    def test(engine: Engine, clock: Clock) -> None:
        first, second = engine.submit(ask(100, n=2)), engine.submit(ask(5))
        drained(engine, clock, 0.5)
        engine.abort(first)
        engine.abort(first)
        assert (first.outcome, engine.aborted) == ("aborted", 1)
        assert engine.scheduler.running == second.sequences
        drained(engine, clock, 10)
        assert second.outcome == "finished"
        engine.abort(second)
        assert (second.outcome, engine.aborted) == ("finished", 1)

    stats = on_a_loop(test)
    assert stats.counters["vllm:request_success_total", (("finished_reason", "abort"),)] == 2


def test_aborting_all_leaves_nothing() -> None:
    def test(engine: Engine, clock: Clock) -> None:
        generations = [engine.submit(ask(100)) for _ in range(5)]
        engine.abort_all()
        assert {generation.outcome for generation in generations} == {"aborted"}
        assert not engine.scheduler.running
        assert not engine.scheduler.waiting

    on_a_loop(test)


def test_a_frozen_engine_yields_nothing_and_goes_on_afterwards() -> None:
    def test(engine: Engine, clock: Clock) -> None:
        engine.freeze(True)
        generation = engine.submit(ask(3))
        drained(engine, clock, 100)
        assert generation.due.empty()
        engine.freeze(False)
        drained(engine, clock, 1)
        assert generation.outcome == "finished"

    on_a_loop(test)


def test_a_crawl_is_its_rate_for_everyone_and_ends() -> None:
    def test(engine: Engine, clock: Clock) -> None:
        engine.crawl(0.5)
        generations = [engine.submit(ask(100)) for _ in range(2)]
        drained(engine, clock, 8.5)
        assert [generation.generated for generation in generations] == [5, 5]
        engine.crawl(0.5)  # the same again does not begin the step anew
        drained(engine, clock, 1.6)
        assert [generation.generated for generation in generations] == [6, 6]
        engine.crawl(None)
        drained(engine, clock, 1)
        assert generations[0].generated > 20

    on_a_loop(test)


def test_idle_is_when_nothing_is_left() -> None:
    async def run() -> list[bool]:
        fast = replace(SETTINGS, simulation=Simulation(prefill_rate=1e9, speed_factor=1e6))
        engine = Engine(fast, Stats(bounds_of(2048)), asyncio.get_running_loop().time)
        found = [await engine.idle_within(0)]
        engine.freeze(True)
        engine.submit(ask(3))
        found.append(await engine.idle_within(0))
        engine.freeze(False)
        found.append(await engine.idle_within(10))
        return found

    assert asyncio.run(run()) == [True, False, True]
