"""A client that shows what a library hides: the chunks of an answer as they come, and paths as they are spelt."""

from __future__ import annotations

import json
import socket
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True)
class Answer:
    """A whole answer; header names are lower-case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def error(self) -> dict[str, Any]:
        """What OpenAI's clients read of it."""
        found: dict[str, Any] = json.loads(self.body)["error"]
        return found


class Client:
    """One connection to a port of this machine."""

    def __init__(self, port: int, timeout: float = 10, host: str = "127.0.0.1") -> None:
        self._socket = socket.create_connection((host, port), timeout=timeout)
        self._data = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def send(self, target: str, body: bytes = b"", method: str = "POST", headers: tuple[str, ...] = ()) -> None:
        """Send a request whose target is spelt exactly so; a body brings its Content-Length."""
        lines = [f"{method} {target} HTTP/1.1", "Host: client.example:8080", *headers]
        if body and not any(line.lower().startswith("transfer-encoding") for line in headers):
            lines.append(f"Content-Length: {len(body)}")
        self.raw("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)

    def raw(self, data: bytes) -> None:
        """Send bytes as they are."""
        self._socket.sendall(data)

    def head(self) -> Answer:
        """Read status and headers, and leave the body."""
        head = self._until(b"\r\n\r\n").decode("latin-1")
        line, *lines = head.split("\r\n")
        headers = {name.lower(): value for name, _, value in (text.partition(": ") for text in lines)}
        return Answer(int(line.split(" ")[1]), headers, b"")

    def chunk(self) -> bytes:
        """Read the next chunk of the body; empty at its end. Raises EOFError where the connection ends instead."""
        size = int(self._until(b"\r\n"), 16)
        while len(self._data) < size + 2:
            self._more()
        chunk, self._data = self._data[:size], self._data[size + 2 :]
        return chunk

    def answer(self, method: str = "POST") -> Answer:
        """Read a whole answer to `method`."""
        head = self.head()
        body = b""
        if method == "HEAD":
            return head
        if head.headers.get("transfer-encoding") == "chunked":
            while chunk := self.chunk():
                body += chunk
        else:
            while len(self._data) < int(head.headers.get("content-length", "0")):
                self._more()
            body, self._data = self._data, b""
        return Answer(head.status, head.headers, body)

    def ask(self, target: str, body: bytes = b"", method: str = "POST", headers: tuple[str, ...] = ()) -> Answer:
        """Send a request and read its answer."""
        self.send(target, body, method, headers)
        return self.answer(method)

    def _until(self, mark: bytes) -> bytes:
        while mark not in self._data:
            self._more()
        found, _, self._data = self._data.partition(mark)
        return found

    def _more(self) -> None:
        more = self._socket.recv(1 << 16)
        if not more:
            raise EOFError("the connection ended in the middle of an answer")
        self._data += more


def ask(port: int, target: str, body: bytes = b"", method: str = "POST", headers: tuple[str, ...] = ()) -> Answer:
    """One request on a connection of its own."""
    with Client(port) as client:
        return client.ask(target, body, method, headers)
