"""Clients without retries: short requests all the time, and long streams when a test asks for them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Self


@dataclass
class Load:
    """Keeps `shorts` short requests under way at once, until it is left; counts what ended, and what failed and how.

    Straight on sockets: the clients share two cores with all that they test. A connection each: a reload closes idle
    ones, and a client that sends on one just then gets a reset, which is nginx's own and no matter of members
    (keepalive_min_timeout of nginx 1.27.4 mends it).
    """

    port: int
    shorts: int
    ended: int = 0
    failed: list[str] = field(default_factory=list)
    open: int = 0
    _stopping: bool = False
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    async def __aenter__(self) -> Self:
        self._tasks += [asyncio.create_task(self._again()) for _ in range(self.shorts)]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stopping = True
        await asyncio.gather(*self._tasks)

    def stream(self, count: int, tokens: int) -> None:
        """Begin so many streams at once."""
        self._tasks += [asyncio.create_task(self._count(lambda: self._stream(tokens))) for _ in range(count)]

    async def _again(self) -> None:
        while not self._stopping:
            await self._count(self._short)

    async def _count(self, request: Callable[[], Awaitable[None]]) -> None:
        try:
            await request()
        except (OSError, AssertionError, asyncio.IncompleteReadError) as error:
            self.failed.append(repr(error))
        self.ended += 1

    async def _stream(self, tokens: int) -> None:
        reader, writer = await self._ask(tokens, stream=True)
        self.open += 1
        try:
            events = await reader.read(-1)
        finally:
            self.open -= 1
            writer.close()
        assert events.endswith(b"\r\n0\r\n\r\n"), f"cut off: {events[-80:]!r}"
        assert b"data: [DONE]" in events[-80:], events[-80:]

    async def _short(self) -> None:
        reader, writer = await self._ask(2, stream=False)
        answer = json.loads(await reader.read(-1))
        writer.close()
        assert answer["usage"]["completion_tokens"] == 2

    async def _ask(self, tokens: int, *, stream: bool) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Send a chat and return the connection when the head of a 200 has come."""
        messages = [{"role": "user", "content": "Hi"}]
        body = {"model": "flagship", "messages": messages, "max_tokens": tokens, "ignore_eos": True, "stream": stream}
        content = json.dumps(body)
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(
            f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(content)}\r\n\r\n{content}".encode()
        )
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 "), head.split(b"\r\n")[0]
        return reader, writer
