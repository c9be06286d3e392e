"""Whatever answers on the port, a check ends in time, uses little memory, and says what it met."""

from __future__ import annotations

import asyncio
import time
import tracemalloc
from typing import Any

import pytest

from floor.healthcheck.check import check
from floor.healthcheck.client import make_client
from floor.healthcheck.target import Target
from floor.healthcheck.verdict import Level, Reason, Verdict

TIMEOUT = 1.0
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"


def checked(hostile: Any, serve: Any) -> tuple[Verdict, float]:
    """One check of a server that does `serve`, and its seconds."""

    async def run() -> tuple[Verdict, float]:
        async with hostile(serve) as url, make_client() as client:
            of = Target(name="flagship@a", url=url, model="flagship", probe_timeout=0.4)
            began = time.monotonic()
            return await check(client, of, timeout=TIMEOUT, window=0.5), time.monotonic() - began

    return asyncio.run(run())


def sends(*parts: bytes, every: float = 0.0, times: int = 1) -> Any:
    """A server that reads a request and sends `parts`, the last one over and over."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for part in parts[:-1]:
            writer.write(part)
        for _ in range(times):
            writer.write(parts[-1])
            await writer.drain()
            if every:
                await asyncio.sleep(every)

    return serve


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()


async def hangs_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


CASES = {
    "never answers": (silent, Reason.TIMED_OUT, "connected, but no answer within"),
    "hangs up": (hangs_up, Reason.REFUSED, "connection accepted, then closed without an answer"),
    "ssh": (sends(b"SSH-2.0-OpenSSH_9.6\r\n\r\n"), Reason.NOT_AN_ENGINE, "no HTTP answer that can be read"),
    "a banner without an end": (sends(b"220 ready\r\n"), Reason.REFUSED, "closed without an answer"),
    "binary": (sends(bytes(range(256)) * 10), Reason.NOT_AN_ENGINE, "no HTTP answer that can be read"),
    "endless header": (sends(HEAD, b"x-a: b\r\n" * 1000, times=100), Reason.NOT_AN_ENGINE, "no HTTP answer"),
    "a header that drips": (sends(HEAD, b"x-a: b\r\n", every=0.05, times=100), Reason.TIMED_OUT, "no answer within"),
    "a body that drips": (sends(HEAD + b"\r\n", b" ", every=0.05, times=100), Reason.TIMED_OUT, "had not ended after"),
    "a body cut short": (
        sends(HEAD + b"content-length: 50\r\n\r\n", b"{}"),
        Reason.REFUSED,
        "then closed the connection",
    ),
    "a bad chunk": (
        sends(HEAD + b"transfer-encoding: chunked\r\n\r\n", b"zz\r\n{}\r\n"),
        Reason.NOT_AN_ENGINE,
        "no HTTP answer that can be read",
    ),
    "another web server": (
        sends(HEAD + b"content-length: 15\r\n\r\n", b"<html>hi</html>"),
        Reason.NOT_AN_ENGINE,
        "GET /v1/models answered 200, but not with a list of models",
    ),
    "a redirect": (
        sends(b"HTTP/1.1 301 Moved\r\nlocation: http://127.0.0.1:1/\r\n", b"content-length: 0\r\n\r\n"),
        Reason.NOT_AN_ENGINE,
        "GET /v1/models answered 301",
    ),
    "deep JSON": (
        sends(HEAD + b"content-length: 200000\r\n\r\n", b"[" * 200_000),
        Reason.NOT_AN_ENGINE,
        "not with a list of models",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_hostile_servers(hostile: Any, name: str) -> None:
    serve, reason, words = CASES[name]
    verdict, seconds = checked(hostile, serve)
    assert verdict.reason is reason, verdict
    assert words in verdict.evidence
    assert verdict.level <= Level.ALIVE
    assert not verdict.healthy
    assert seconds <= TIMEOUT + 1


def test_a_hundred_megabytes_are_not_read(hostile: Any) -> None:
    """Each answer is read up to its bound and the connection closed: neither time nor memory follow the server."""
    block = b"x" * 1_000_000
    tracemalloc.start()
    try:
        verdict, seconds = checked(hostile, sends(HEAD + b"\r\n", block, times=100))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert verdict.reason is Reason.NOT_AN_ENGINE, verdict
    assert "stopped reading after 1048576 bytes" in verdict.evidence
    assert seconds <= TIMEOUT + 1
    assert peak < 40_000_000


def test_a_check_of_a_hostile_server_does_not_hold_up_another(hostile: Any) -> None:
    """Many at once in one loop: the healthy one is found healthy long before its time is up."""
    models = b'{"data":[{"id":"flagship"}]}'

    async def healthy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = await reader.readuntil(b"\r\n\r\n")
        body = models if b"models" in line else b'{"usage":{"completion_tokens":1}}'
        writer.write(HEAD + b"content-length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()

    async def run() -> tuple[Verdict, float]:
        endless = sends(HEAD + b"\r\n", b"x" * 1_000_000, times=100)
        async with hostile(endless) as bad, hostile(silent) as mute, hostile(healthy) as good, make_client() as client:
            others = [
                asyncio.create_task(check(client, Target("other", url, "flagship", probe_timeout=0.4), timeout=TIMEOUT))
                for url in (bad, mute) * 5
            ]
            began = time.monotonic()
            verdict = await check(client, Target("flagship@a", good, "flagship", probe_timeout=5), timeout=10)
            seconds = time.monotonic() - began
            await asyncio.gather(*others)
            return verdict, seconds

    verdict, seconds = asyncio.run(run())
    assert verdict.healthy, verdict
    assert seconds < 5


def test_a_proxy_in_the_environment_does_not_matter(hostile: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked through that proxy it would be refused."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    verdict, _ = checked(hostile, sends(b"HTTP/1.1 401 Unauthorized\r\n", b"content-length: 0\r\n\r\n"))
    assert verdict.reason is Reason.AUTH_REQUIRED
