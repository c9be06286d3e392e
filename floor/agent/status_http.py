"""The little HTTP that the status port speaks: one GET, one key, one answer. Whatever else comes is cut short."""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Awaitable, Mapping
from typing import Any, Protocol

from floor.errors import FloorError

HEAD_LIMIT = 8192  # bytes of a request's head; ours has 150
HEAD_TIME = 2.0  # seconds for it to arrive; a proxy sends it in one piece
ANSWER_TIME = 15.0  # seconds for the answer to be made and taken
MOST = 64  # connections at once; each proxy has one. Beyond them nobody is heard, so nothing can pile up

_WORDS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 405: "Method Not Allowed"}
_BUSY = 503


class Source(Protocol):
    """Where the answer comes from; `now` raises FloorError if it cannot be had."""

    def now(self) -> Awaitable[dict[str, Any]]: ...


class Port:
    """Answers connections. Given the keys of which one is asked for (none empty) and the sources of the answers: of
    /status, and by path of what else there is."""

    head_limit = HEAD_LIMIT

    def __init__(self, keys: tuple[str, ...], source: Source, more: Mapping[str, Source] | None = None) -> None:
        self._keys = [b"Bearer " + key.encode() for key in keys]
        self._sources = {"/status": source, **(more or {})}
        self._open = 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection and close it. Nothing that the other side does is raised."""
        self._open += 1
        try:
            if self._open <= MOST and await self._serve(reader, writer):
                writer.close()
        finally:
            self._open -= 1
            if not writer.is_closing():
                writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Return whether the answer was taken; who is slow, gone or speaks no HTTP is not owed one."""
        try:
            async with asyncio.timeout(HEAD_TIME):
                head = await reader.readuntil(b"\r\n\r\n")
            async with asyncio.timeout(ANSWER_TIME):
                await self._send(writer, *await self._reply(head))
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            return False
        return True

    async def _send(self, writer: asyncio.StreamWriter, status: int, document: dict[str, Any]) -> None:
        body = json.dumps(document).encode()
        words = _WORDS.get(status, "Service Unavailable")
        writer.write(
            f"HTTP/1.1 {status} {words}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
            "Cache-Control: no-store\r\nConnection: close\r\n\r\n".encode()
            + body
        )
        await writer.drain()

    async def _reply(self, head: bytes) -> tuple[int, dict[str, Any]]:
        line, *fields = head.split(b"\r\n")
        words = line.split(b" ")
        if len(words) != 3 or not words[2].startswith(b"HTTP/1."):
            return 400, {"error": "not an HTTP request"}
        # The key first: who does not have it learns nothing, not even what there is.
        given = _key(fields)
        if not any([hmac.compare_digest(given, key) for key in self._keys]):  # noqa: C419 -- all: as long for each
            return 401, {"error": "the status key is asked for: Authorization: Bearer KEY"}
        if words[0] != b"GET":
            return 405, {"error": "this port is read-only: GET /status"}
        source = self._sources.get(words[1].decode("latin-1"))
        if source is None:
            return 404, {"error": f"there is GET {' and '.join(self._sources)}"}
        try:
            return 200, await source.now()
        except FloorError as error:
            return _BUSY, {"error": str(error)}


def _key(fields: list[bytes]) -> bytes:
    for field in fields:
        name, _, value = field.partition(b":")
        if name.lower() == b"authorization":
            return value.strip()
    return b""
