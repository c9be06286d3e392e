"""One bounded HTTP request, whose every ending is data."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from .dialects import openai
from .sample import Answer, Fault
from .target import Target

Clock = Callable[[], float]

_MOST_WORDS = 160  # of an engine's own words in one line of evidence


@dataclass(frozen=True)
class Request:
    """What is asked: `method` and `path` with a JSON `body`, at most `limit` bytes of the answer are read."""

    method: str
    path: str
    limit: int
    body: Mapping[str, Any] | None = None


@dataclass
class _Progress:
    """How far a request got before it ended."""

    connected: bool = False
    status: int | None = None
    body: bytearray = field(default_factory=bytearray)
    cut: bool = False


async def ask(
    client: httpx.AsyncClient, target: Target, request: Request, *, clock: Clock, within: float
) -> tuple[Answer, bytes]:
    """Ask one thing of a backend `within` so many seconds, connect and body included.

    Return how it ended and the bytes of the body, at most `request.limit` of them. Nothing that a network or a server
    can do is raised.
    """
    asked = f"{request.method} {request.path}"
    progress = _Progress()
    began = clock()
    fault: Fault | None = None
    detail = ""
    try:
        async with asyncio.timeout(within):
            await _exchange(client, target, request, progress)
    except TimeoutError:
        fault, detail = _late(progress, within)
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError) as error:
        fault, detail = _fault(error, progress)
    seconds = clock() - began
    body = bytes(progress.body)
    if fault is None:
        detail = _words(target, progress, body)
    return Answer(asked=asked, status=progress.status, fault=fault, detail=detail, seconds=seconds), body


async def _exchange(client: httpx.AsyncClient, target: Target, request: Request, progress: _Progress) -> None:
    """Send `request` and fill `progress` as the answer comes."""

    async def trace(event: str, _info: Mapping[str, Any]) -> None:
        if event.endswith("send_request_headers.started"):
            progress.connected = True

    headers = {"Authorization": f"Bearer {target.key}"} if target.key else {}
    async with client.stream(
        request.method,
        f"{target.url}{request.path}",
        headers=headers,
        json=request.body,
        extensions={"trace": trace},
    ) as response:
        progress.connected = True
        progress.status = response.status_code
        if response.headers.get("content-encoding", "identity") != "identity":
            raise httpx.RemoteProtocolError("compressed, though it was asked not to")  # could grow beyond any bound
        async for chunk in response.aiter_bytes():
            progress.body += chunk[: request.limit - len(progress.body)]
            if len(progress.body) >= request.limit:
                progress.cut = True
                return


def _late(progress: _Progress, within: float) -> tuple[Fault, str]:
    """Say what a deadline of `within` seconds cut off."""
    if not progress.connected:
        return Fault.UNREACHABLE, f"no connection within {within:.1f} s"
    if progress.status is None:
        return Fault.TIMED_OUT, f"connected, but no answer within {within:.1f} s"
    return Fault.TIMED_OUT, f"began to answer {progress.status}, but had not ended after {within:.1f} s"


def _fault(error: Exception, progress: _Progress) -> tuple[Fault, str]:
    """Given what the client raised, return which fault it is and how to say it."""
    causes = tuple(_causes(error))
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        return Fault.NOT_HTTP, f"TLS failed: {_plain(str(error))}"
    if isinstance(error, httpx.TimeoutException) and not isinstance(error, httpx.ConnectTimeout):
        return Fault.TIMED_OUT, "connected, but no answer in time"
    if not progress.connected or isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout)):
        if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
            return Fault.REFUSED, "connection refused"
        if any(isinstance(cause, socket.gaierror) for cause in causes):
            return Fault.UNREACHABLE, "the host name does not resolve"
        reasons = [cause.strerror for cause in causes if isinstance(cause, OSError) and cause.strerror]
        return Fault.UNREACHABLE, f"no connection: {_plain(reasons[-1] if reasons else str(error)) or 'timed out'}"
    text = str(error)
    if isinstance(error, httpx.ProtocolError) and "disconnected" not in text and "closed connection" not in text:
        return Fault.NOT_HTTP, f"no HTTP answer that can be read ({_plain(text)})"
    if progress.status is None:
        return Fault.DROPPED, "connection accepted, then closed without an answer"
    return Fault.DROPPED, f"began to answer {progress.status}, then closed the connection"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield `error` and everything it came from; groups are opened (a name with several addresses has one)."""
    seen: set[int] = set()
    left: list[BaseException] = [error]
    while left:
        cause = left.pop(0)
        if id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        if isinstance(cause, BaseExceptionGroup):
            left.extend(cause.exceptions)
        left.extend(c for c in (cause.__cause__, cause.__context__) if c is not None)


def _words(target: Target, progress: _Progress, body: bytes) -> str:
    """Return what is worth quoting of a whole answer: an error's own words, or that it was too long."""
    if progress.cut:
        return f"stopped reading after {len(body)} bytes"
    if progress.status is not None and progress.status < 400:
        return ""
    words = openai.error(body)
    if words is None:
        words = body[: 4 * _MOST_WORDS].decode("utf-8", "replace")
    if target.key:
        words = words.replace(target.key, "(key)")  # it goes into logs
    return _plain(words)


def _plain(text: str) -> str:
    """Return `text` as one short line of printable characters, safe in a log."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= _MOST_WORDS else line[: _MOST_WORDS - 1] + "…"
