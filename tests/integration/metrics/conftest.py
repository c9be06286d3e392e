"""Targets that answer bytes of our own, and the service that reads them, in one process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from floor.box.notify import Notifier
from floor.healthcheck.client import make_client
from floor.metrics.here import Here
from floor.metrics.service import Service
from floor.metrics.settings import Backend, Settings

CASES = Path(__file__).parents[2] / "cases"
BUSY = (CASES / "vllm" / "metrics_busy.txt").read_bytes()
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def answers(body: bytes, status: str = "200 OK") -> Serve:
    """A target that answers `body`."""
    head = f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n".encode()
    return sends(head + body)


def sends(first: bytes, then: bytes = b"", every: float = 0.0) -> Serve:
    """A target that reads a request, sends `first`, and `then` over and over."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(first)
        await writer.drain()
        while then:
            writer.write(then)
            await writer.drain()
            await asyncio.sleep(every)

    return serve


@dataclass
class Stage:
    """A service and its targets, by name; what a target does can be changed under way."""

    service: Service
    port: int
    does: dict[str, Serve]
    said: list[str] = field(default_factory=list)

    async def get(self, path: str = "/metrics") -> tuple[int, bytes, float]:
        """Status, body and seconds of one request to the service."""
        began = time.monotonic()
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 24)
        writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        raw = await reader.read()
        writer.close()
        head, _, body = raw.partition(b"\r\n\r\n")
        return int(head.split()[1]), body, time.monotonic() - began

    async def until(self, holds: Callable[[str], bool], seconds: float = 20.0) -> str:
        """The page as soon as `holds` is true of it. Raise AssertionError with the end of it otherwise."""
        ends = time.monotonic() + seconds
        while True:
            page = (await self.get())[1].decode()
            if holds(page):
                return page
            assert time.monotonic() < ends, "\n".join(line for line in page.splitlines() if "floor_target" in line)
            await asyncio.sleep(0.05)


@asynccontextmanager
async def _stage(
    does: dict[str, Serve],
    root: Path,
    *,
    interval: float = 0.3,
    dialects: dict[str, str] | None = None,
    keys: Sequence[str] = (),
    journal: Sequence[str] = ("true",),
    gpus: Sequence[str] = ("no-such-program",),
) -> AsyncIterator[Stage]:
    async with AsyncExitStack() as stack:
        backends = []
        for name in does:

            async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, name: str = name) -> None:
                with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                    await does[name](reader, writer)
                writer.close()

            server = await asyncio.start_server(handle, "127.0.0.1", 0)
            stack.callback(server.close)
            port = server.sockets[0].getsockname()[1]
            dialect = (dialects or {}).get(name, "vllm")
            backends.append(Backend(f"m@{name}", f"http://127.0.0.1:{port}", name, "m", dialect, bool(keys)))
        with suppress(OSError):
            probe = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
            free = probe.sockets[0].getsockname()[1]
            probe.close()
        wanted = Settings("here", "127.0.0.1", free, interval, None, bool(journal), tuple(backends))
        said: list[str] = []
        here = Here(wanted, root, gpus=gpus, journal=journal)
        service = Service(wanted, keys, here, make_client(), root, said.append)
        running = asyncio.create_task(service.run(Notifier({})))
        try:
            stage = Stage(service, free, does, said)
            for _ in range(200):
                with suppress(OSError):
                    await stage.get()
                    break
                await asyncio.sleep(0.02)
            yield stage
        finally:
            service.stop()
            await running


@pytest.fixture
def stage(tmp_path: Path) -> Callable[..., AsyncIterator[Stage]]:
    """Given what targets do, by name, a running service that reads them."""
    return lambda does, **rest: _stage(does, tmp_path, **rest)  # type: ignore[return-value]
