"""One check of one backend: what is asked, in which order, and when it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from floor.healthcheck.check import check
from floor.healthcheck.target import Target
from floor.healthcheck.verdict import Level, Reason, Verdict

Make = Callable[..., Target]


def checked(engine: Any, target: Target, **given: Any) -> Verdict:
    async def run() -> Verdict:
        async with engine.client() as client:
            return await check(client, target, clock=engine.clock, pause=engine.clock.pause, **given)

    return asyncio.run(run())


def posts(engine: Any) -> int:
    return sum(request.method == "POST" for request in engine.asked)


def test_an_idle_engine_is_asked_for_one_token(engine: Any, make_target: Make) -> None:
    verdict = checked(engine, make_target())
    assert verdict.healthy
    assert verdict.evidence == "generates, 1 token in 0.20 s"
    assert (verdict.running, verdict.waiting, verdict.backend) == (0, 0, "flagship@a")
    assert posts(engine) == 1


def test_a_busy_engine_is_watched_instead(engine: Any, make_target: Make) -> None:
    """Its own tokens are the proof; no probe goes into its queue."""
    engine.running, engine.waiting = 12, 30

    def page(_: Any) -> str:
        engine.generated += 7
        return engine.page()  # type: ignore[no-any-return]

    engine.metrics = page
    verdict = checked(engine, make_target())
    assert verdict.healthy
    assert verdict.evidence == "generates, 7 tokens of its own work within 0.5 s"
    assert posts(engine) == 0


def test_a_busy_engine_without_a_token_is_watched_for_the_window_only(engine: Any, make_target: Make) -> None:
    """Busy is not down: a warning, after the window."""
    engine.running = 1
    verdict = checked(engine, make_target(), window=5.0)
    assert (verdict.level, verdict.reason) == (Level.READY, Reason.PREFILLING)
    assert engine.clock.now - 100 == pytest.approx(4.5)
    assert posts(engine) == 0


def test_a_busy_engine_that_falls_idle_is_asked(engine: Any, make_target: Make) -> None:
    pages = iter([(1, 0), (0, 0)])

    def page(_: Any) -> str:
        engine.running, engine.waiting = next(pages)
        return engine.page()  # type: ignore[no-any-return]

    engine.metrics = page
    assert checked(engine, make_target()).healthy
    assert posts(engine) == 1


def test_an_engine_without_metrics_is_asked(engine: Any, make_target: Make) -> None:
    """There is no other way to know."""
    engine.metrics = 404
    verdict = checked(engine, make_target())
    assert verdict.healthy
    assert (verdict.running, verdict.waiting) == (None, None)


@pytest.mark.parametrize(
    ("change", "level", "reason"),
    [
        ({"health": httpx.ConnectError("no")}, Level.ALIVE, Reason.SLOW),
        ({"health": 503}, Level.ALIVE, Reason.LOADING),
        ({"health": 500}, Level.ALIVE, Reason.SERVER_ERROR),
        ({"models": 401}, Level.ALIVE, Reason.AUTH_REQUIRED),
        ({"models": ("other",)}, Level.ALIVE, Reason.WRONG_MODEL),
        ({"models": "<html>"}, Level.DOWN, Reason.NOT_AN_ENGINE),
    ],
)
def test_what_is_not_ready_is_not_asked(
    engine: Any, make_target: Make, change: dict[str, Any], level: Level, reason: Reason
) -> None:
    for name, value in change.items():
        setattr(engine, name, value)
    verdict = checked(engine, make_target())
    assert (verdict.level, verdict.reason) == (level, reason)
    assert posts(engine) == 0


def test_a_generation_that_fails(engine: Any, make_target: Make) -> None:
    """200 on everything else, and every generation an error."""
    engine.generation = lambda _: httpx.Response(500, json={"error": {"message": "EngineCore died"}})
    verdict = checked(engine, make_target())
    assert (verdict.level, verdict.reason) == (Level.READY, Reason.SERVER_ERROR)
    assert verdict.evidence == "POST /v1/chat/completions answered 500: EngineCore died"


def late_and_then(engine: Any, running: int) -> Callable[[Any], Exception]:
    """A generation that runs out of time, after which the engine holds so many requests."""

    def late(_: Any) -> Exception:
        engine.running = running
        return httpx.ReadTimeout("")

    return late


@pytest.mark.parametrize("running", [0, 1])
def test_a_generation_that_never_comes(engine: Any, make_target: Make, running: int) -> None:
    """200 but dead. The one request that it may still hold is the probe itself."""
    engine.generation = late_and_then(engine, running)
    verdict = checked(engine, make_target())
    assert (verdict.level, verdict.reason) == (Level.READY, Reason.TIMED_OUT)
    assert verdict.evidence.startswith("idle, yet POST /v1/chat/completions: connected, but no answer in time")


def test_a_generation_that_never_comes_beyond_the_stall_limit(engine: Any, make_target: Make) -> None:
    engine.generation = late_and_then(engine, 0)
    engine.took = 12.0
    verdict = checked(engine, make_target(stall=10))
    assert (verdict.reason, verdict.restartable) == (Reason.HUNG, True)


def test_a_probe_that_others_overtook(engine: Any, make_target: Make) -> None:
    """Long prompts came in between: full, not dead."""
    engine.generation = late_and_then(engine, 12)
    verdict = checked(engine, make_target())
    assert (verdict.level, verdict.reason) == (Level.READY, Reason.PREFILLING)


def test_a_slow_engine_is_degraded(engine: Any, make_target: Make) -> None:
    """The CPU fell in for the GPU: 15 tokens beyond the first in 7.5 s."""
    engine.took = 0.0

    def answer(_: Any) -> Any:
        first = posts(engine) == 1
        engine.clock.now += 0.5 if first else 8.0
        return {"usage": {"completion_tokens": 1 if first else 16}}

    engine.generation = answer
    verdict = checked(engine, make_target(min_speed=5), timeout=30)
    assert (verdict.level, verdict.reason) == (Level.GENERATES, Reason.DEGRADED)
    assert verdict.evidence == "generates 2.0 tokens/s, the minimum is 5 (on the CPU instead of the GPU?)"


def test_a_late_answer_is_waited_for(engine: Any, make_target: Make) -> None:
    """One look that nothing came from is not yet a verdict: a long prefill may hold the engine."""
    outcomes = iter([httpx.ReadTimeout("")] * 3)

    def health(_: Any) -> Any:
        return next(outcomes, 200)

    def models(_: Any) -> Any:
        return {"data": [{"id": "flagship"}]} if engine.clock.now > 101 else httpx.ReadTimeout("")

    def metrics(_: Any) -> Any:
        return engine.page() if engine.clock.now > 101 else httpx.ReadTimeout("")

    engine.health, engine.models, engine.metrics = health, models, metrics
    assert checked(engine, make_target()).healthy


def test_silence_is_waited_for_no_longer_than_the_window(engine: Any, make_target: Make) -> None:
    engine.health = engine.models = engine.metrics = httpx.ReadTimeout("")
    verdict = checked(engine, make_target(), window=3.0)
    assert (verdict.level, verdict.reason) == (Level.ALIVE, Reason.TIMED_OUT)
    assert engine.clock.now - 100 == pytest.approx(2.5)
