"""How every ending of a request is told apart, and what is quoted of it."""

from __future__ import annotations

import asyncio
import gzip
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from floor.healthcheck.ask import Request, ask
from floor.healthcheck.client import make_client
from floor.healthcheck.sample import Answer, Fault
from floor.healthcheck.target import Target

Make = Callable[..., Target]


def asked(
    target: Target, handler: Callable[[httpx.Request], Any], *, limit: int = 1000, within: float = 5.0
) -> tuple[Answer, bytes]:
    """One GET /health over a transport that answers with `handler`."""

    async def run() -> tuple[Answer, bytes]:
        async with make_client(httpx.MockTransport(handler)) as client:
            request = Request("GET", "/health", limit)
            return await ask(client, target, request, clock=lambda: 1.0, within=within)

    return asyncio.run(run())


def caused(error: Exception, cause: BaseException) -> Exception:
    """`error` as if raised from `cause`."""
    error.__cause__ = cause
    return error


ENDINGS = [
    (
        caused(httpx.ConnectError("All connection attempts failed"), ConnectionRefusedError(111, "Connection refused")),
        Fault.REFUSED,
        "connection refused",
    ),
    (
        caused(
            httpx.ConnectError("All connection attempts failed"),
            ExceptionGroup("multiple", [OSError(101, "Network is unreachable"), ConnectionRefusedError(111, "no")]),
        ),
        Fault.REFUSED,
        "connection refused",
    ),
    (
        caused(
            httpx.ConnectError("x"), caused(OSError("All connection attempts failed"), OSError(113, "No route to host"))
        ),
        Fault.UNREACHABLE,
        "no connection: No route to host",
    ),
    (
        caused(httpx.ConnectError("x"), socket.gaierror(-2, "Name or service not known")),
        Fault.UNREACHABLE,
        "the host name does not resolve",
    ),
    (httpx.ConnectTimeout(""), Fault.UNREACHABLE, "no connection: timed out"),
    (
        caused(httpx.ConnectError("wrong version"), ssl.SSLError(1, "wrong version number")),
        Fault.NOT_HTTP,
        "TLS failed: wrong version",
    ),
    (httpx.ReadTimeout(""), Fault.TIMED_OUT, "connected, but no answer in time"),
]


@pytest.mark.parametrize(("error", "fault", "detail"), ENDINGS, ids=[e[2] + str(n) for n, e in enumerate(ENDINGS)])
def test_a_connection_that_fails(make_target: Make, error: Exception, fault: Fault, detail: str) -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        raise error

    answer, body = asked(make_target(), handler)
    assert (answer.fault, answer.detail, answer.status, body) == (fault, detail, None, b"")
    assert not answer.whole
    assert not answer.ok
    assert str(answer) == f"GET /health: {detail}"


class Broken(httpx.AsyncByteStream):
    """A body that begins and then fails."""

    def __init__(self, error: Exception | None, wait: float = 0.0) -> None:
        self.error = error
        self.wait = wait

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b"begun"
        await asyncio.sleep(self.wait)
        if self.error is not None:
            raise self.error


@pytest.mark.parametrize(
    ("error", "fault", "detail"),
    [
        (httpx.ReadError("reset"), Fault.DROPPED, "began to answer 200, then closed the connection"),
        (
            httpx.RemoteProtocolError("peer closed connection without sending complete message body"),
            Fault.DROPPED,
            "began to answer 200, then closed the connection",
        ),
        (
            httpx.RemoteProtocolError("bad chunk\n\x1b[31m"),
            Fault.NOT_HTTP,
            "no HTTP answer that can be read (bad chunk [31m)",
        ),
    ],
)
def test_a_body_that_fails(make_target: Make, error: Exception, fault: Fault, detail: str) -> None:
    """The status had come; the answer is still none."""
    answer, _ = asked(make_target(), lambda _: httpx.Response(200, stream=Broken(error)))
    assert (answer.status, answer.fault, answer.detail) == (200, fault, detail)
    assert not answer.ok


def test_a_body_that_does_not_end(make_target: Make) -> None:
    """The deadline is for the whole, not for each read."""
    answer, _ = asked(make_target(), lambda _: httpx.Response(200, stream=Broken(None, wait=30)), within=0.05)
    expected = (200, Fault.TIMED_OUT, "began to answer 200, but had not ended after 0.1 s")
    assert (answer.status, answer.fault, answer.detail) == expected


def test_no_connection_before_the_deadline(make_target: Make) -> None:
    async def handler(request: httpx.Request) -> httpx.Response:
        await asyncio.sleep(30)
        return httpx.Response(200)

    answer, _ = asked(make_target(), handler, within=0.05)
    assert (answer.fault, answer.detail) == (Fault.UNREACHABLE, "no connection within 0.1 s")


def test_a_connection_without_an_answer_before_the_deadline(make_target: Make) -> None:
    """The transport tells when the connection stood: that makes it a time-out and not unreachable."""

    async def handler(request: httpx.Request) -> httpx.Response:
        await request.extensions["trace"]("http11.send_request_headers.started", {})
        await asyncio.sleep(30)
        return httpx.Response(200)

    answer, _ = asked(make_target(), handler, within=0.05)
    assert (answer.fault, answer.detail) == (Fault.TIMED_OUT, "connected, but no answer within 0.1 s")


def test_closed_after_connecting(make_target: Make) -> None:
    async def handler(request: httpx.Request) -> httpx.Response:
        await request.extensions["trace"]("http11.send_request_headers.started", {})
        raise httpx.RemoteProtocolError("Server disconnected without sending a response.")

    answer, _ = asked(make_target(), handler)
    assert (answer.fault, answer.detail) == (Fault.DROPPED, "connection accepted, then closed without an answer")


def test_a_long_body_is_cut(make_target: Make) -> None:
    answer, body = asked(make_target(), lambda _: httpx.Response(200, content=b"x" * 5000), limit=1000)
    assert len(body) == 1000
    assert str(answer) == "GET /health answered 200: stopped reading after 1000 bytes"


def test_a_good_answer_is_not_quoted(make_target: Make) -> None:
    answer, body = asked(make_target(), lambda _: httpx.Response(200, content=b"fine"))
    assert (answer.detail, body, answer.ok) == ("", b"fine", True)
    assert str(answer) == "GET /health answered 200"


@pytest.mark.parametrize(
    ("body", "quoted"),
    [
        (b'{"error":{"message":"Loading model"}}', "Loading model"),
        (b"plain words\nin two lines", "plain words in two lines"),
        (b"\x1b[2Jcleared\x00", "[2Jcleared"),
        (b"", ""),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"y" * 500, "y" * 159 + "…"),
    ],
)
def test_what_an_error_says_is_quoted_in_one_safe_line(make_target: Make, body: bytes, quoted: str) -> None:
    """It goes into logs and terminals."""
    answer, _ = asked(make_target(), lambda _: httpx.Response(500, content=body))
    assert answer.detail == quoted


def test_a_key_is_sent_and_never_quoted(make_target: Make) -> None:
    """Even when the engine repeats it."""

    def handler(request: httpx.Request) -> httpx.Response:
        return httpx.Response(401, json={"error": f"not allowed: {request.headers['authorization']}"})

    answer, _ = asked(make_target(key="sk-secret"), handler)
    assert answer.detail == "not allowed: Bearer (key)"


def test_what_every_request_carries(make_target: Make) -> None:
    """No compression, so that a body cannot grow; no key that was not given; no cookie, no origin."""
    seen: list[httpx.Headers] = []

    def handler(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers)
        return httpx.Response(200)

    asked(make_target(), handler)
    assert seen[0]["accept-encoding"] == "identity"
    assert seen[0]["user-agent"] == "floor-healthcheck"
    assert "authorization" not in seen[0]
    assert "origin" not in seen[0]


def test_a_compressed_answer_is_not_opened(make_target: Make) -> None:
    """A kilobyte can become a gigabyte."""
    bomb = gzip.compress(b"0" * 1_000_000)

    def handler(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-encoding": "gzip"}, stream=httpx.ByteStream(bomb))

    answer, body = asked(make_target(), handler)
    expected = (Fault.NOT_HTTP, "no HTTP answer that can be read (compressed, though it was asked not to)")
    assert (answer.fault, answer.detail, body) == (*expected, b"")


def test_a_redirect_is_not_followed(make_target: Make) -> None:
    answer, _ = asked(make_target(), lambda _: httpx.Response(302, headers={"location": "http://192.0.2.9/"}))
    assert answer.status == 302


def test_the_client_keeps_no_connection_and_reads_no_proxy_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Backends are asked directly, each time over a new connection."""
    monkeypatch.setenv("HTTP_PROXY", "http://192.0.2.99:3128")
    monkeypatch.setenv("ALL_PROXY", "socks5://192.0.2.99:1080")
    client = make_client()
    assert client.trust_env is False
    assert not client._mounts
    pool = client._transport._pool  # type: ignore[attr-defined]
    assert pool._max_keepalive_connections == 0
    asyncio.run(client.aclose())
