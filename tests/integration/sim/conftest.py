"""Simulated engines to talk to."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from floor.sim.process import SimulatedEngine

KEY = "secret"
CASES = Path(__file__).parents[2] / "cases"


@pytest.fixture
def vllm() -> Path:
    """The folder of answers captured from vLLM 0.32."""
    return CASES / "vllm"


@pytest.fixture(scope="session")
def common() -> Iterator[SimulatedEngine]:
    """One engine for every test that leaves it alive: 4 requests at once, 2048 tokens, a key, 20 times as fast."""
    options = {"speed_factor": 20, "admin_routes": "true"}
    args = ["--enable-auto-tool-choice", "--tool-call-parser", "hermes"]
    with SimulatedEngine("flagship", max_requests=4, context=2048, key=KEY, args=args, **options) as engine:
        yield engine


@pytest.fixture
def engine(common: SimulatedEngine) -> Iterator[SimulatedEngine]:
    """The common engine, with no fault in force and nothing under way, before and after."""
    yield common
    common.clear()
    common.wait_until(lambda state: state["running"] + state["waiting"] == 0)


@pytest.fixture(scope="session")
def connections(common: SimulatedEngine) -> Iterator[httpx.Client]:
    """One client for the session: to make one takes longer than most tests."""
    with httpx.Client(base_url=common.url, headers={"authorization": f"Bearer {KEY}"}, timeout=10) as client:
        yield client


@pytest.fixture
def client(engine: SimulatedEngine, connections: httpx.Client) -> httpx.Client:
    """An HTTP client of the common engine that has its key."""
    return connections


@pytest.fixture(scope="session")
def quiet() -> Iterator[SimulatedEngine]:
    """An engine of which no test asks anything that would cut its connections."""
    with SimulatedEngine("flagship") as engine:
        yield engine


@pytest.fixture(scope="session", autouse=True)
def idle(quiet: SimulatedEngine) -> Iterator[Callable[[], tuple[float, float]]]:
    """Asks one thing when the session begins and nothing more. How long until the engine closed that connection: the
    shortest and the longest that it can have been, as the answer came some time between asking and reading it."""
    connection = socket.create_connection((quiet.host, quiet.port), timeout=10)
    asked = time.monotonic()
    connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
    assert connection.recv(4096).startswith(b"HTTP/1.1 200 OK")
    answered = time.monotonic()
    closed: list[tuple[float, float]] = []

    def wait() -> None:
        connection.recv(1)
        now = time.monotonic()
        closed.append((now - answered, now - asked))

    def seconds() -> tuple[float, float]:
        thread.join()
        return closed[0]

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    yield seconds
    connection.shutdown(socket.SHUT_RDWR)
    thread.join()
    connection.close()


@pytest.fixture(scope="session")
def anyone() -> Iterator[httpx.Client]:
    """A client without a key, for any address."""
    with httpx.Client(timeout=10) as client:
        yield client


@pytest.fixture
def start() -> Iterator[Callable[..., SimulatedEngine]]:
    """Starts an engine of the test's own, and ends it afterwards."""
    started: list[SimulatedEngine] = []

    def make(model: str = "flagship", wait: bool = True, **settings: Any) -> SimulatedEngine:
        engine = SimulatedEngine(model, wait=wait, **settings)
        started.append(engine)
        return engine.start()

    yield make
    for engine in started:
        engine.__exit__(None, None, None)
