"""The plain way to the engines: the same answers, and the same words for what goes wrong, as httpx's own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import httpx
import pytest

from floor.healthcheck.client import make_client
from floor.pool.wire import Wire

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def answering(answer: bytes, seen: list[bytes] | None = None) -> Serve:
    """A server that reads one request's head, sends `answer` and closes."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if seen is not None:
            seen.append(head + await reader.read(4096) if b"content-length" in head.lower() else head)
        writer.write(answer)
        writer.close()

    return serve


def get(
    serve: Serve, transport: httpx.AsyncBaseTransport | None, method: str = "GET", **given: object
) -> httpx.Response:
    async def run() -> httpx.Response:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            async with make_client(transport) as client:
                return await client.request(method, f"http://127.0.0.1:{port}/v1/x?y=1", timeout=5, **given)  # type: ignore[arg-type]

    return asyncio.run(run())


ANSWERS = {
    "length": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: b\r\n\r\nhello",
    "chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
    "until the end": b"HTTP/1.0 200 OK\r\n\r\nhello",
    "after a 100": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 x\r\nContent-Length: 5\r\n\r\nhello",
    "nothing": b"HTTP/1.1 204 No Content\r\n\r\n",
}
FAULTS = {
    "closed": b"",
    "cut": b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello",
    "no HTTP": b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
    "head without end": b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200_000,
    "bad chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_answers_are_the_same(answer: bytes) -> None:
    ours, theirs = get(answering(answer), Wire()), get(answering(answer), None)
    assert (ours.status_code, ours.content, ours.headers) == (theirs.status_code, theirs.content, theirs.headers)


@pytest.mark.parametrize("answer", FAULTS.values(), ids=FAULTS)
def test_faults_are_the_same(answer: bytes) -> None:
    raised = []
    for transport in (Wire(), None):
        with pytest.raises(httpx.HTTPError) as one:
            get(answering(answer), transport)
        raised.append((type(one.value), str(one.value)))
    assert raised[0] == raised[1]


def test_requests_are_the_same() -> None:
    for given in ({}, {"method": "POST", "json": {"a": 1}}):
        seen: list[bytes] = []
        for transport in (Wire(), None):
            get(answering(ANSWERS["length"], seen), transport, **given)  # type: ignore[arg-type]
        # The port in Host is each server's own.
        ours, theirs = (b"\n".join(line for line in one.split(b"\n") if not line.startswith(b"Host")) for one in seen)
        assert ours == theirs


def test_a_port_that_refuses_is_told_from_a_box_without_a_route() -> None:
    async def ask(url: str) -> None:
        async with make_client(Wire()) as client:
            await client.get(url)

    with pytest.raises(httpx.ConnectError) as refused:
        asyncio.run(ask("http://127.0.0.1:1/"))
    assert isinstance(refused.value.__cause__, ConnectionRefusedError)
    with pytest.raises(httpx.ConnectError):
        asyncio.run(ask("http://255.255.255.255:80/"))


def test_a_request_that_is_given_up_leaves_no_connection() -> None:
    gone = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await reader.read()
        gone.set()
        writer.close()

    async def run() -> None:
        async with await asyncio.start_server(silent, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            async with make_client(Wire()) as client:
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.1):
                        await client.get(f"http://127.0.0.1:{port}/")
                await asyncio.wait_for(gone.wait(), 5)

    asyncio.run(run())


def test_tls_is_left_to_httpx() -> None:
    async def run() -> None:
        async with make_client(Wire()) as client:
            with pytest.raises(httpx.ConnectError):
                await client.get("https://127.0.0.1:1/")

    asyncio.run(run())
