"""A backend that does what no framework would: a thread, a socket, and a function for each request."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self


@dataclass(frozen=True)
class Request:
    """What arrived. Header names are lower-case; `line` is the request line."""

    line: str
    headers: dict[str, str]
    body: bytes

    @property
    def target(self) -> str:
        return self.line.split(" ")[1]


Handle = Callable[[socket.socket, Request], None]
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"


def answer(connection: socket.socket, request: Request) -> None:
    """Say 200 and keep the connection."""
    connection.sendall(OK)


def drop(connection: socket.socket, request: Request) -> None:
    """Take the request and close, as a process does that dies of it."""
    connection.shutdown(socket.SHUT_RDWR)


@dataclass
class Backend:
    """Listens on `host` until the end of its `with`; `handle` may be replaced while it runs."""

    handle: Handle = answer
    host: str = "127.0.0.2"
    port: int = 0
    requests: list[Request] = field(default_factory=list)
    connections: int = 0

    def __enter__(self) -> Self:
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        self._listener = socket.create_server((self.host, self.port), family=family, backlog=1024)
        self.port = self._listener.getsockname()[1]
        self._open: set[socket.socket] = set()
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Refuse new connections and end those that are open."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(timeout=5)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.add(connection)
            thread = threading.Thread(target=self._serve, args=(connection,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            while (request := _read(connection)) is not None:
                self.requests.append(request)
                self.handle(connection, request)
        self._open.discard(connection)


def _read(connection: socket.socket) -> Request | None:
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return None
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    line, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (text.partition(": ") for text in lines)}
    while len(body) < int(headers.get("content-length", "0")):
        body += connection.recv(1 << 20)
    return Request(line, headers, body)
