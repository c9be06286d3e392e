"""An application under the real uvicorn, whose framing is what decides whether a proxy streams.

uvicorn answers chunked to HTTP/1.1 and un-chunked to HTTP/1.0; nothing here frames by itself.
"""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import uvicorn

Send = Callable[[dict[str, Any]], Awaitable[None]]


@dataclass
class Call:
    """One request as the application saw it; `path` is as it was spelt, `left` when the client went away."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes = b""
    left: float | None = None


@dataclass
class Engine:
    """Streams numbered events, one each time `permit` is called; anything else gets what `headers` and `status` say.

    A request whose body is `stream` streams until it is told `end`, others are answered at once with their own body.
    """

    host: str = "127.0.0.2"
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    sent: int = 0

    def __enter__(self) -> Self:
        self._socket = socket.create_server((self.host, 0), backlog=2048)
        self.port: int = self._socket.getsockname()[1]
        config = uvicorn.Config(
            self._app, interface="asgi3", lifespan="off", ws="none", log_level="error", timeout_keep_alive=5
        )
        self._server = uvicorn.Server(config)
        self._streams: list[asyncio.Queue[bool]] = []
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.005)
        return self

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self._server.serve(sockets=[self._socket])

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.permit(end=True)
        self._server.should_exit = True
        self._server.force_exit = True
        self._thread.join(timeout=10)
        self._socket.close()

    @property
    def streaming(self) -> int:
        """Streams that are open now."""
        return len(self._streams)

    def permit(self, *, end: bool = False) -> None:
        """Let every open stream send its next event, or end."""
        for stream in list(self._streams):
            self._loop.call_soon_threadsafe(stream.put_nowait, end)

    async def _app(self, scope: dict[str, Any], receive: Callable[[], Awaitable[dict[str, Any]]], send: Send) -> None:
        path = scope["raw_path"].decode() + ("?" + scope["query_string"].decode() if scope["query_string"] else "")
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        call = Call(scope["method"], path, headers)
        while True:
            message = await receive()
            call.body += message.get("body", b"")
            if not message.get("more_body"):
                break
        self.calls.append(call)
        if b"stream" in call.body:
            await self._stream(call, receive, send)
            return
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
        await send({"type": "http.response.body", "body": b"reached " + call.path.encode()})

    async def _stream(self, call: Call, receive: Callable[[], Awaitable[dict[str, Any]]], send: Send) -> None:
        queue: asyncio.Queue[bool] = asyncio.Queue()
        self._streams.append(queue)
        gone = asyncio.create_task(receive())
        headers = [(b"content-type", b"text/event-stream; charset=utf-8"), *self.headers]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        number = 0
        while True:
            next_one = asyncio.create_task(queue.get())
            await asyncio.wait([gone, next_one], return_when=asyncio.FIRST_COMPLETED)
            if gone.done():
                next_one.cancel()
                call.left = time.monotonic()
                break
            if next_one.result():
                gone.cancel()
                break
            number += 1
            await send({"type": "http.response.body", "body": f"data: {number}\n\n".encode(), "more_body": True})
            self.sent += 1
        self._streams.remove(queue)
        if call.left is None:
            await send({"type": "http.response.body", "body": b""})
