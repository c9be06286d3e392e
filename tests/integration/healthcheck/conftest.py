"""A simulated engine for a whole file, and servers that speak bytes of our own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from floor.sim.process import SimulatedEngine

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Hostile = Callable[[Serve], AbstractAsyncContextManager[str]]


@pytest.fixture(scope="module")
def _engine() -> Iterator[SimulatedEngine]:
    with SimulatedEngine("flagship", max_requests=2, context=4096, speed_factor=5) as engine:
        yield engine


@pytest.fixture
def engine(_engine: SimulatedEngine) -> Iterator[SimulatedEngine]:
    """The engine of this file, without a fault before and after each test."""
    yield _engine
    _engine.clear()


@asynccontextmanager
async def _hostile(serve: Serve) -> AsyncIterator[str]:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


@pytest.fixture
def hostile() -> Hostile:
    """Given what to do with a connection, a server that does it, and its URL."""
    return _hostile
