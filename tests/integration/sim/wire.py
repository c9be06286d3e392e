"""Requests as bytes, and what comes back in the pieces in which it does."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

from floor.sim.process import SimulatedEngine


def ask(text: str = "hello", **more: Any) -> dict[str, Any]:
    """The body of a chat request."""
    return {"model": "flagship", "messages": [{"role": "user", "content": text}], **more}


def post(path: str, body: bytes, *headers: str, key: str = "secret", version: str = "1.1") -> bytes:
    """The bytes of a POST."""
    lines = [f"POST {path} HTTP/{version}", "Host: engine", f"Authorization: Bearer {key}"]
    lines += ["Content-Type: application/json", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


@dataclass
class Wire:
    """A raw connection."""

    connection: socket.socket

    @classmethod
    def to(cls, engine: SimulatedEngine, request: bytes = b"") -> Wire:
        connection = socket.create_connection((engine.host, engine.port), timeout=10)
        connection.sendall(request)
        return cls(connection)

    def pieces(self) -> Iterator[tuple[float, bytes]]:
        """(seconds since the first was asked for, bytes) until the other side closes."""
        started = time.monotonic()
        while piece := self.connection.recv(65536):
            yield time.monotonic() - started, piece

    def until(self, marker: bytes) -> bytes:
        """Everything up to and with the piece that holds `marker`. Raises EOFError when the other side closes first."""
        found = b""
        while marker not in found:
            piece = self.connection.recv(65536)
            if not piece:
                raise EOFError(found)
            found += piece
        return found

    def rest(self) -> bytes:
        """Everything until the other side closes."""
        return b"".join(piece for _, piece in self.pieces())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()
