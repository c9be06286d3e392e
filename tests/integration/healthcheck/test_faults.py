"""Each fault of a simulated engine has its own verdict, in bounded time, asked over real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from floor.healthcheck.check import check
from floor.healthcheck.client import make_client
from floor.healthcheck.history import History
from floor.healthcheck.judge import judge, wants_generation, with_generation
from floor.healthcheck.probe import generate, look
from floor.healthcheck.target import Target
from floor.healthcheck.verdict import Level, Reason, Verdict
from floor.sim.process import SimulatedEngine, free_port

TIMEOUT = 1.0


def target(url: str, **given: Any) -> Target:
    return Target(**{"name": "flagship@a", "url": url, "model": "flagship", "probe_timeout": 2.0, **given})


def checked(of: Target, timeout: float = TIMEOUT, window: float = 0.8) -> tuple[Verdict, float]:
    """A verdict and the seconds that it took."""

    async def run() -> Verdict:
        async with make_client() as client:
            return await check(client, of, timeout=timeout, window=window)

    began = time.monotonic()
    return asyncio.run(run()), time.monotonic() - began


def test_a_healthy_engine(engine: SimulatedEngine) -> None:
    verdict, seconds = checked(target(engine.url))
    assert verdict.healthy, verdict
    assert (verdict.running, verdict.waiting) == (0, 0)
    assert seconds < 3


FAULTS = [
    ("refuse", {}, Level.DOWN, Reason.REFUSED, "connection refused"),
    ("drop", {}, Level.DOWN, Reason.REFUSED, "connection accepted, then closed without an answer"),
    ("hang", {}, Level.ALIVE, Reason.TIMED_OUT, "connected, but no answer within"),
    ("dead", {}, Level.READY, Reason.TIMED_OUT, "idle, yet POST /v1/chat/completions: connected, but no answer"),
    (
        "unauthorized",
        {},
        Level.ALIVE,
        Reason.AUTH_REQUIRED,
        "answered 401: Unauthorized; auth required: set the engine",
    ),
    ("wrong-model", {"name": "small"}, Level.ALIVE, Reason.WRONG_MODEL, "/v1/models lists small, not flagship"),
    ("error", {}, Level.READY, Reason.SERVER_ERROR, "POST /v1/chat/completions answered 500: EngineCore encountered"),
    ("error", {"routes": "all"}, Level.ALIVE, Reason.SERVER_ERROR, "GET /health answered 500"),
    ("loading", {}, Level.ALIVE, Reason.LOADING, "GET /health answered 503: Loading model"),
    ("slow", {"rate": 0.5}, Level.GENERATES, Reason.DEGRADED, "(on the CPU instead of the GPU?)"),
    ("prefill", {"seconds": 0.3}, Level.GENERATES, Reason.OK, "generates, 1 token in 0.3"),
]


@pytest.mark.parametrize(
    ("kind", "options", "level", "reason", "words"), FAULTS, ids=[f"{f[0]}-{f[3]}" for f in FAULTS]
)
def test_faults(
    engine: SimulatedEngine, kind: str, options: dict[str, Any], level: Level, reason: Reason, words: str
) -> None:
    """One check each, within its time and a second."""
    engine.fault(kind, **options)
    verdict, seconds = checked(target(engine.url, min_speed=20))
    assert (verdict.level, verdict.reason) == (level, reason), verdict
    assert words in verdict.evidence
    assert seconds <= TIMEOUT + 1


def test_answers_that_take_most_of_their_time(engine: SimulatedEngine) -> None:
    engine.fault("slow-headers", seconds=0.6)
    verdict, _ = checked(target(engine.url, probe_timeout=1.0), timeout=4)
    assert (verdict.level, verdict.reason) == (Level.GENERATES, Reason.SLOW), verdict
    assert "of the 1 s it may take" in verdict.evidence


def test_a_key_that_fits_and_one_that_does_not() -> None:
    with SimulatedEngine("flagship", key="sk-right") as engine:
        assert checked(target(engine.url, key="sk-right"))[0].healthy
        for key in (None, "sk-wrong"):
            verdict, _ = checked(target(engine.url, key=key))
            assert (verdict.level, verdict.reason) == (Level.ALIVE, Reason.AUTH_REQUIRED)


def test_loading_behind_a_closed_port_and_then_ready() -> None:
    """vLLM does not listen while it loads."""
    with SimulatedEngine("flagship", load_time=0.7, wait=False) as engine:
        assert checked(target(engine.url))[0].reason is Reason.REFUSED
        engine.wait_until(lambda state: state["ready"])
        assert checked(target(engine.url))[0].healthy


def test_a_reasoning_model_answers_nothing_and_generates() -> None:
    """Its first token is no content; the count is what matters."""
    with SimulatedEngine("flagship", reasoning_tokens=50) as engine:
        assert checked(target(engine.url))[0].healthy


def ask(engine: SimulatedEngine, tokens: int = 2000) -> threading.Thread:
    """A client that asks for a long answer and is not waited for."""

    def post() -> None:
        body = {
            "model": "flagship",
            "messages": [{"role": "user", "content": "x"}],
            "max_tokens": tokens,
            "ignore_eos": True,
        }
        with contextlib.suppress(httpx.HTTPError):  # the test kills or breaks the engine under it
            httpx.post(f"{engine.url}/v1/chat/completions", json=body, timeout=60, trust_env=False)

    thread = threading.Thread(target=post, daemon=True)
    thread.start()
    return thread


def test_a_full_engine_is_proven_by_its_own_tokens() -> None:
    """Twice as many requests as it takes at once: no probe joins the queue, and the verdict is there at once."""
    with SimulatedEngine("flagship", max_requests=2, context=4096) as engine:
        for _ in range(4):
            ask(engine)
        engine.wait_until(lambda state: state["running"] == 2 and state["waiting"] == 2)
        verdict, seconds = checked(target(engine.url))
        assert verdict.healthy, verdict
        assert (verdict.running, verdict.waiting) == (2, 2)
        assert "of its own work" in verdict.evidence
        assert seconds < 3
        assert len(engine.state()["posts"]) == 4


def watched(of: Target, until: Callable[[Verdict], bool], *, limit: float, every: float = 5.0) -> list[Verdict]:
    """Looks every 0.1 s, with generations when they are wanted, as a service does it, until a verdict or the limit."""

    async def run() -> list[Verdict]:
        history, verdicts = History(), []
        ends = time.monotonic() + limit
        async with make_client() as client:
            while time.monotonic() < ends:
                sample = await look(client, of, clock=time.monotonic)
                history, verdict = judge(of, history, sample)
                if wants_generation(history, sample, time.monotonic(), every):
                    asked = await generate(client, of, clock=time.monotonic, timeout=1.0)
                    history, verdict = with_generation(history, asked)
                verdicts.append(verdict)
                if until(verdict):
                    break
                await asyncio.sleep(0.1)
        return verdicts

    return asyncio.run(run())


def is_(reason: Reason) -> Callable[[Verdict], bool]:
    return lambda verdict: verdict.reason is reason


def test_a_dead_scheduler_becomes_hung(engine: SimulatedEngine) -> None:
    """200 on everything, and a client waits: after the stall limit, and not before."""
    engine.fault("dead")
    ask(engine, 20)
    engine.wait_until(lambda state: state["running"] == 1)
    began = time.monotonic()
    verdicts = watched(target(engine.url, stall=1.0), is_(Reason.HUNG), limit=6)
    assert verdicts[-1].reason is Reason.HUNG, verdicts[-1]
    assert verdicts[-1].restartable
    assert time.monotonic() - began > 0.9


def test_an_engine_that_answers_nothing_becomes_hung(engine: SimulatedEngine) -> None:
    engine.fault("hang")
    verdicts = watched(target(engine.url, stall=0.8, probe_timeout=0.2), is_(Reason.HUNG), limit=5)
    assert verdicts[-1].reason is Reason.HUNG
    assert {v.reason for v in verdicts} == {Reason.TIMED_OUT, Reason.HUNG}


@pytest.mark.parametrize("block", [True, False])
def test_a_slow_prefill_is_never_down(engine: SimulatedEngine, block: bool) -> None:
    """A silent second within the stall limit, with and without answers to anything else meanwhile."""
    assert watched(target(engine.url), is_(Reason.OK), limit=3)[-1].healthy
    engine.fault("prefill", seconds=1.0, block=block)
    client = ask(engine, 5)
    verdicts = watched(target(engine.url, stall=5, probe_timeout=0.3), lambda _: not client.is_alive(), limit=5)
    assert not any(v.restartable for v in verdicts)
    assert {v.reason for v in verdicts} <= {
        Reason.OK,
        Reason.PREFILLING,
        Reason.TIMED_OUT,
        Reason.SLOW,
        Reason.UNPROVEN,
    }
    assert not client.is_alive()


def test_a_killed_engine_has_to_prove_itself_again() -> None:
    with SimulatedEngine("flagship") as engine:
        of = target(engine.url)
        history = History()

        async def once(history: History) -> tuple[History, Verdict, bool]:
            async with make_client() as client:
                sample = await look(client, of, clock=time.monotonic)
                history, verdict = judge(of, history, sample)
                wants = wants_generation(history, sample, time.monotonic(), 60)
                if wants:
                    asked = await generate(client, of, clock=time.monotonic, timeout=2)
                    history, verdict = with_generation(history, asked)
                return history, verdict, wants

        history, verdict, asked = asyncio.run(once(history))
        assert (verdict.healthy, asked) == (True, True)
        history, verdict, asked = asyncio.run(once(history))
        assert (verdict.healthy, asked) == (True, False)
        engine.kill()
        engine.start()
        history, verdict, asked = asyncio.run(once(history))
        assert (verdict.healthy, asked) == (True, True), "between two looks it was restarted, and nobody saw it down"


def test_https_where_http_is_spoken(engine: SimulatedEngine) -> None:
    verdict, _ = checked(target(engine.url.replace("http:", "https:")))
    assert (verdict.level, verdict.reason) == (Level.DOWN, Reason.NOT_AN_ENGINE)
    assert verdict.evidence.startswith("GET /health: TLS failed: ")


def test_nobody_listens() -> None:
    verdict, seconds = checked(target(f"http://127.0.0.1:{free_port()}"))
    assert (verdict.reason, verdict.evidence) == (Reason.REFUSED, "GET /health: connection refused")
    assert seconds < 3


def test_no_such_name() -> None:
    verdict, seconds = checked(target("http://no-such-host.invalid:8000"))
    assert verdict.reason is Reason.UNREACHABLE, verdict
    assert seconds <= TIMEOUT + 1


def test_an_address_of_the_other_family() -> None:
    """IPv6 literals go in brackets all the way down."""
    verdict, _ = checked(target(f"http://[::1]:{free_port()}"))
    assert verdict.reason in (Reason.REFUSED, Reason.UNREACHABLE)
    assert verdict.level is Level.DOWN
