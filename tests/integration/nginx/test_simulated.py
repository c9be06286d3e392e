"""The proxy in front of simulated engines: what the whole chain does when somebody leaves or dies."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest

from floor.sim.process import SimulatedEngine
from tests.integration.proxy import KEY, Copy, Proxy, site

CHAT = "/v1/chat/completions"
LONG = {"model": "flagship", "messages": [{"role": "user", "content": "hi"}], "stream": True, "max_tokens": 400}


@pytest.fixture(scope="module")
def engines() -> Iterator[tuple[SimulatedEngine, SimulatedEngine]]:
    """Two copies on two addresses, with the engines' key."""
    with (
        SimulatedEngine("flagship", host="127.0.0.2", key=KEY, max_requests=4) as one,
        SimulatedEngine("flagship", host="127.0.0.3", key=KEY, max_requests=4) as two,
    ):
        yield one, two


@pytest.fixture(scope="module")
def proxy(engines: tuple[SimulatedEngine, SimulatedEngine]) -> Iterator[Proxy]:
    with Proxy(site([Copy(engine.host, engine.port) for engine in engines])) as proxy:
        yield proxy


def test_answers_come_whole_and_the_model_list_too(proxy: Proxy) -> None:
    body = {**LONG, "max_tokens": 8}
    with httpx.stream("POST", proxy.url + CHAT, json=body) as answer:
        events = [line.removeprefix("data: ") for line in answer.iter_lines() if line]
    assert (answer.status_code, events[-1]) == (200, "[DONE]")
    assert all(json.loads(event)["model"] == "flagship" for event in events[:-1])
    assert httpx.get(proxy.url + "/v1/models").json()["data"][0]["id"] == "flagship"


def test_both_copies_carry_the_load(proxy: Proxy, engines: tuple[SimulatedEngine, SimulatedEngine]) -> None:
    """Long answers at once: each goes to the copy with fewer connections."""
    with httpx.Client() as client:
        streams = [client.stream("POST", proxy.url + CHAT, json=LONG) for _ in range(6)]
        for stream in streams:
            assert stream.__enter__().status_code == 200
        assert [engine.wait_until(lambda state: state["running"] == 3)["running"] for engine in engines] == [3, 3]
        for stream in streams:
            stream.__exit__(None, None, None)
    for engine in engines:
        engine.wait_until(lambda state: state["running"] == 0)


def test_a_client_that_leaves_stops_the_generation(
    proxy: Proxy, engines: tuple[SimulatedEngine, SimulatedEngine]
) -> None:
    before = sum(engine.state()["aborted"] for engine in engines)
    with httpx.stream("POST", proxy.url + CHAT, json=LONG) as answer:
        next(answer.iter_lines())
    proxy.until(lambda: sum(engine.state()["aborted"] for engine in engines) == before + 1, "the engine to stop")
    assert [engine.state()["running"] for engine in engines] == [0, 0]


def test_an_engine_that_dies_of_a_request_is_the_only_one_that_saw_it(
    proxy: Proxy, engines: tuple[SimulatedEngine, SimulatedEngine]
) -> None:
    """Both would die of it, and both are members: exactly one does, and the other goes on serving."""
    for engine in engines:
        engine.fault("die", how="kill", on="request", times=1)
    before = {engine: len(engine.state()["posts"]) for engine in engines}
    answer = httpx.post(proxy.url + CHAT, json={**LONG, "stream": False})
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, 503)
    (alive,) = [engine for engine in engines if _lives(engine)]
    (dead,) = [engine for engine in engines if engine is not alive]
    assert len(alive.state()["posts"]) == before[alive]
    alive.clear()
    for _ in range(3):
        assert httpx.post(proxy.url + CHAT, json={**LONG, "stream": False, "max_tokens": 2}).status_code == 200
    dead.wait()
    dead.start()


def _lives(engine: SimulatedEngine) -> bool:
    try:
        return bool(engine.state()["ready"])
    except OSError:
        return False
