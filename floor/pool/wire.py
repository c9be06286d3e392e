"""A plain way for httpx to the engines: a new connection for each request, straight on asyncio.

The pool asks each backend three things twice a second, for ever. httpx's own transport, made for pools of kept
connections and for several event loops, takes twice the time of everything else together.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import h11
import httpx

_CHUNK = 65536  # bytes read at once
_HEAD = 100 * 1024  # bytes of an answer's head at most, as httpcore has it


class Wire(httpx.AsyncBaseTransport):
    """Sends over http itself. TLS (someone else's server) is left to httpx, which knows the machine's certificates."""

    def __init__(self) -> None:
        self._tls: httpx.AsyncHTTPTransport | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Given a request, send it and return the answer with its body still to come. Raise what httpx raises."""
        if request.url.scheme != "http":
            return await self._by_tls().handle_async_request(request)
        try:
            reader, writer = await asyncio.open_connection(request.url.host, request.url.port or 80, limit=_CHUNK)
        except OSError as error:
            raise httpx.ConnectError(str(error), request=request) from error
        exchange = _Exchange(reader, writer)
        try:
            return await exchange.run(request)
        except BaseException:
            await exchange.aclose()
            raise

    async def aclose(self) -> None:
        """Close what httpx holds."""
        if self._tls is not None:
            await self._tls.aclose()

    def _by_tls(self) -> httpx.AsyncHTTPTransport:
        if self._tls is None:
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
            self._tls = httpx.AsyncHTTPTransport(trust_env=False, limits=limits)
        return self._tls


class _Exchange(httpx.AsyncByteStream):
    """One request and its answer; as a stream, the answer's body."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._parser = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEAD)

    async def run(self, request: httpx.Request) -> httpx.Response:
        trace = request.extensions.get("trace")
        if trace is not None:
            # The same words as httpcore's: they tell a box that is there from one that is not.
            await trace("http11.send_request_headers.started", {})
        head = h11.Request(method=request.method, target=request.url.raw_path, headers=request.headers.raw)
        body = await request.aread()
        parts = [self._parser.send(head), self._parser.send(h11.Data(body)), self._parser.send(h11.EndOfMessage())]
        try:
            self._writer.write(b"".join(part for part in parts if part))
            await self._writer.drain()
        except OSError as error:
            raise httpx.WriteError(str(error), request=request) from error
        event = await self._next()
        while isinstance(event, h11.InformationalResponse):
            event = await self._next()
        if not isinstance(event, h11.Response):
            raise httpx.RemoteProtocolError(f"an answer was due, {type(event).__name__} came", request=request)
        return httpx.Response(event.status_code, headers=event.headers.raw_items(), stream=self)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while isinstance(event := await self._next(), h11.Data):
            yield bytes(event.data)

    async def aclose(self) -> None:
        self._writer.close()

    async def _next(self) -> Any:
        """Return what comes next in the answer, however many reads it takes."""
        try:
            while (event := self._parser.next_event()) is h11.NEED_DATA:
                data = await self._reader.read(_CHUNK)
                if not data and self._parser.their_state is h11.SEND_RESPONSE:
                    raise httpx.RemoteProtocolError("Server disconnected without sending a response.")
                self._parser.receive_data(data)
        except h11.RemoteProtocolError as error:
            raise httpx.RemoteProtocolError(str(error)) from error
        except OSError as error:
            raise httpx.ReadError(str(error)) from error
        return event
