"""O03, O10, O11, O04: tokens arrive when they are made, for as long as a request may take."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tests.integration.nginx.client import Client
from tests.integration.nginx.engine import Engine
from tests.integration.proxy import Proxy

CHAT = "/v1/chat/completions"


@contextmanager
def _streams(proxy: Proxy, engine: Engine, count: int = 1) -> Iterator[list[Client]]:
    before = engine.streaming
    with ExitStack() as stack:
        clients = [stack.enter_context(Client(proxy.port(), timeout=20)) for _ in range(count)]
        for client in clients:
            client.send(CHAT, b'{"stream": true}')
        proxy.until(lambda: engine.streaming == before + count, f"{count} streams to reach the engine")
        yield clients
    proxy.until(lambda: engine.streaming == before, "the streams to end", timeout=20)


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [(b"x-accel-buffering", b"yes")],
        [(b"x-accel-limit-rate", b"1"), (b"cache-control", b"max-age=60")],
        [(b"x-accel-redirect", b"/v1/models")],
    ],
    ids=["plain", "asks-for-buffering", "asks-to-be-slow", "asks-for-another-place"],
)
def test_an_event_arrives_before_the_next_but_one_is_sent(
    proxy: Proxy, engine: Engine, headers: list[tuple[bytes, bytes]]
) -> None:
    engine.headers[:] = headers
    with _streams(proxy, engine) as (client,):
        assert client.head().headers["content-type"].startswith("text/event-stream")
        for number in range(1, 11):
            engine.permit()
            assert client.chunk() == f"data: {number}\n\n".encode()
            assert engine.sent <= number + 1
        engine.permit(end=True)
        assert client.chunk() == b""


def test_the_first_event_is_not_held_back(proxy: Proxy, engine: Engine) -> None:
    with _streams(proxy, engine) as (client,):
        began = time.monotonic()
        engine.permit()
        client.head()
        assert client.chunk() == b"data: 1\n\n"
        assert time.monotonic() - began < 0.2


def test_a_client_that_leaves_is_told_to_the_engine_at_once(proxy: Proxy, engine: Engine) -> None:
    with _streams(proxy, engine) as (client,):
        engine.permit()
        client.head()
        client.chunk()
        client.close()
        left = time.monotonic()
        proxy.until(lambda: engine.calls[0].left is not None, "the engine to see that the client left")
        assert (engine.calls[0].left or 0) - left < 0.5


def test_a_client_that_leaves_during_the_prompt_is_told_too(proxy: Proxy, engine: Engine) -> None:
    """Nothing of the answer was sent yet: an engine would otherwise work through the whole prompt."""
    with _streams(proxy, engine) as (client,):
        client.close()
        proxy.until(lambda: engine.calls[0].left is not None, "the engine to see that the client left")


def test_a_reload_cuts_no_stream(proxy: Proxy, engine: Engine) -> None:
    with _streams(proxy, engine) as (client,):
        engine.permit()
        client.head()
        client.chunk()
        proxy.reload()
        assert len(proxy.workers(leaving=True)) >= 1
        for number in range(2, 11):
            engine.permit()
            assert client.chunk() == f"data: {number}\n\n".encode()
        engine.permit(end=True)
        assert client.chunk() == b""
        client.close()
        proxy.until(lambda: not proxy.workers(leaving=True), "the old workers to leave when their streams ended")


def test_six_hundred_idle_streams_at_once(proxy: Proxy, engine: Engine) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4096), hard))
    with _streams(proxy, engine, 600) as clients:
        engine.permit()
        assert [client.head().status for client in clients] == [200] * 600
        assert {client.chunk() for client in clients} == {b"data: 1\n\n"}
    assert "worker_connections" not in proxy.errors()
    assert "open file" not in proxy.errors()
