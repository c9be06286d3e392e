"""The little HTTP that the page is served with: GET alone, one answer a connection, whatever else comes cut short."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

HEAD_LIMIT = 16384  # bytes of a request's head; Prometheus sends 400
HEAD_TIME = 2.0  # seconds for it to arrive
ANSWER_TIME = 10.0  # seconds for the answer to be taken; Prometheus gives up after 10 by default
MOST = 32  # connections at once; beyond them nobody is heard, so nothing can pile up

_WORDS = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"}
Pages = Mapping[str, tuple[str, Callable[[], bytes]]]
"""Path → its content type, and what makes the page."""


class Port:
    """Answers connections. Given the pages that there are, and how many connections may be open at once."""

    head_limit = HEAD_LIMIT

    def __init__(self, pages: Pages, most: int = MOST) -> None:
        self._pages, self._most = pages, most
        self._open = 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection and close it. Nothing that the other side does is raised."""
        self._open += 1
        try:
            if self._open <= self._most and await self._serve(reader, writer):
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
                status, kind, body = self._reply(head)
                writer.write(
                    f"HTTP/1.1 {status} {_WORDS[status]}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
                    "Cache-Control: no-store\r\nConnection: close\r\n\r\n".encode()
                )
                writer.write(body)
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            return False
        return True

    def _reply(self, head: bytes) -> tuple[int, str, bytes]:
        words = head.split(b"\r\n", 1)[0].split(b" ")
        if len(words) != 3 or not words[2].startswith(b"HTTP/1."):
            return 400, "text/plain", b"not an HTTP request\n"
        if words[0] != b"GET":
            return 405, "text/plain", b"this port is read-only\n"
        page = self._pages.get(words[1].split(b"?", 1)[0].decode("latin-1"))
        if page is None:
            return 404, "text/plain", f"there is {', '.join(self._pages)}\n".encode()
        kind, make = page
        return 200, kind, make()
