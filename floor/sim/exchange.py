"""One request and its answer, over plain ASGI."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from floor.sim.refusals import read_json, refusal
from floor.sim.shapes import encode

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Headers = tuple[tuple[bytes, bytes], ...]

# What vLLM's CORS layer adds to every answer it sees.
VARY: Headers = ((b"vary", b"Origin"),)
WRONG_MEDIA = "1 validation error:\n  Unsupported Media Type: Only 'application/json' is allowed"


class Gone(Exception):  # noqa: N818  # how a request can end, not an error of this program
    """The client left, or its connection was cut: there is nobody to answer."""


@dataclass(frozen=True)
class Reply:
    """A whole answer. `kind` is the content type; an empty body has none. `first` are headers before all others."""

    status: int
    body: bytes = b""
    kind: str = "application/json"
    headers: Headers = VARY
    first: Headers = ()

    @classmethod
    def json(cls, content: object, status: int = 200, headers: Headers = VARY, first: Headers = ()) -> Reply:
        return cls(status, encode(content), headers=headers, first=first)


@dataclass
class Exchange:
    """`delay` and `more` are seconds before, and headers in, whatever is answered; `dress` gives the others."""

    scope: Mapping[str, Any]
    receive: Receive
    send: Send
    cut_connection: Callable[[], None]
    delay: float = 0.0
    more: Headers = ()
    dress: Callable[[int, Headers], Headers] = lambda status, headers: headers  # noqa: ARG005
    was_cut: bool = False
    complete: bool = False
    status: int | None = None
    sent_bytes: int | None = None
    _watch: asyncio.Task[None] | None = None
    _left: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def method(self) -> str:
        return str(self.scope["method"])

    @property
    def path(self) -> str:
        return str(self.scope["path"])

    def header(self, name: bytes) -> str | None:
        """A request header's first value; `name` in lower case."""
        return next((v.decode("latin-1") for k, v in self.scope["headers"] if k == name), None)

    async def body(self) -> bytes:
        """The whole request body. Raises Gone when the client leaves before its end."""
        parts: list[bytes] = []
        while True:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise Gone
            parts.append(message.get("body", b""))
            if not message.get("more_body"):
                return b"".join(parts)

    def json(self, body: bytes) -> dict[str, Any]:
        """The body as an object. Raises Refusal when it is none, or does not say that it is JSON."""
        if (self.header(b"content-type") or "").partition(";")[0].strip().lower() != "application/json":
            raise refusal(400, WRONG_MEDIA, "Bad Request")
        return read_json(body)

    def watch(self, on_leave: Callable[[], None] | None = None) -> None:
        """From here on, notice at once when the client leaves, and call `on_leave` then. After `body` only."""
        self._watch = asyncio.create_task(self._wait_for_end(on_leave))

    async def _wait_for_end(self, on_leave: Callable[[], None] | None) -> None:
        while (await self.receive())["type"] != "http.disconnect":
            pass
        self._left.set()
        if on_leave is not None:
            on_leave()

    @property
    def has_left(self) -> bool:
        """Whether the client is known to have left."""
        return self._left.is_set()

    async def left(self) -> None:
        """Wait until the client has left."""
        await self._left.wait()

    async def reply(self, reply: Reply) -> None:
        """Answer in one piece."""
        length = (b"content-length", str(len(reply.body)).encode())
        kind = ((b"content-type", reply.kind.encode()),) if reply.body else ()
        await self.start(reply.status, (*reply.first, length, *kind, *reply.headers))
        self.sent_bytes = len(reply.body)
        self.complete = not self._left.is_set()
        await self.send({"type": "http.response.body", "body": reply.body})

    async def start(self, status: int, headers: Headers) -> None:
        """Send the status and headers, late if a fault says so."""
        if self.delay:
            await self._wait(self.delay)
        self.status = status
        await self.send(
            {"type": "http.response.start", "status": status, "headers": [*self.dress(status, headers), *self.more]}
        )

    async def _wait(self, seconds: float) -> None:
        """Let `seconds` pass. Raises Gone when the client leaves meanwhile."""
        if self._watch is None:
            self.watch()
        try:
            await asyncio.wait_for(self._left.wait(), seconds)
        except TimeoutError:
            return
        raise Gone

    async def start_events(self) -> None:
        """Begin a stream of server-sent events."""
        await self.start(200, ((b"content-type", b"text/event-stream; charset=utf-8"), *VARY))

    async def write(self, events: bytes) -> None:
        """Server-sent events, each as a piece of its own; none for b"". Raises Gone when the client has left."""
        if self._left.is_set():
            raise Gone
        for event in events.split(b"\n\n")[:-1]:
            await self.send({"type": "http.response.body", "body": event + b"\n\n", "more_body": True})

    async def end(self) -> None:
        """End a stream, whole."""
        self.complete = not self._left.is_set()
        await self.send({"type": "http.response.body", "body": b""})

    async def cut(self) -> None:
        """Close the connection as it stands, and end this request: raises Gone."""
        self.was_cut = True
        self.cut_connection()
        if self._watch is None:
            self.watch()
        await self.left()
        raise Gone

    @property
    def outcome(self) -> str:
        """answered; cut (here, by a fault); or left: the client went away, or a shutdown closed its connection."""
        if self.was_cut:
            return "cut"
        return "answered" if self.complete else "left"

    def close(self) -> None:
        """Stop watching. The answer is out, or never will be."""
        if self._watch is not None:
            self._watch.cancel()
