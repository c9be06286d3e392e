"""The little HTTP that services of a box speak: one GET, one answer a connection. Whatever else comes is cut short."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence

HEAD_TIME = 2.0  # seconds for a request's head to arrive; who means it sends it in one piece
WORDS = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    405: "Method Not Allowed",
    503: "Service Unavailable",
}
Reply = tuple[int, str, bytes]
"""Status, content type, body."""


class Port(ABC):
    """Answers connections: at most `most` at once, each within so many seconds. Beyond them nobody is heard, so nothing
    can pile up."""

    def __init__(self, most: int, seconds: float) -> None:
        self._most, self._seconds = most, seconds
        self._open = 0

    @abstractmethod
    async def reply(self, method: bytes, path: str, fields: Sequence[bytes]) -> Reply:
        """Given what is asked, the query with it, and the lines of the head, return the answer. `method` is empty where
        it is no HTTP request."""

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
            async with asyncio.timeout(self._seconds):
                status, kind, body = await self.reply(*_read(head))
                writer.write(
                    f"HTTP/1.1 {status} {WORDS[status]}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
                    "Cache-Control: no-store\r\nConnection: close\r\n\r\n".encode()
                    + body
                )
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            return False
        return True


def _read(head: bytes) -> tuple[bytes, str, Sequence[bytes]]:
    line, *fields = head.split(b"\r\n")
    words = line.split(b" ")
    if len(words) != 3 or not words[2].startswith(b"HTTP/1."):
        return b"", "", fields
    return words[0], words[1].decode("latin-1"), fields
