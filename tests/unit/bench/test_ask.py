"""Whatever comes of a request, it is data."""

from __future__ import annotations

import asyncio
import json

import httpx
import pytest

from floor.bench import ask
from floor.bench.level import Record
from floor.bench.traffic import Request

TEXT = {"choices": [{"delta": {"content": "x"}}]}


def asked(*events: object, end: bytes = b"data: [DONE]\n\n", status: int = 200) -> Record:
    """What one request came to whose answer has these events; the clock goes on by a second at each look."""
    lines = (one if isinstance(one, bytes) else json.dumps(one).encode() for one in events)
    body = b"".join(b"data: " + line + b"\n\n" for line in lines) + end

    def answer(_request: httpx.Request) -> httpx.Response:
        return httpx.Response(status, content=body)

    ticks = iter(range(1000))

    async def run() -> Record:
        async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client:
            request = Request("/v1/completions", {"prompt": "x"})
            return await ask.ask(client, "http://h", "m", request, clock=lambda: float(next(ticks)), within=9)

    return asyncio.run(run())


def test_the_engines_count_goes_before_the_pieces() -> None:
    found = asked(TEXT, TEXT, {"choices": [], "usage": {"completion_tokens": 7, "prompt_tokens": 3}})
    assert (found.tokens, found.prompt, found.error) == (7, 3, "")


@pytest.mark.parametrize("count", ["12", -12, float("nan"), 1e999, True, [3], 10**12, 2.5])
def test_a_count_that_is_none(count: object) -> None:
    found = asked(TEXT, TEXT, {"choices": [], "usage": {"completion_tokens": count, "prompt_tokens": count}})
    assert (found.tokens, found.prompt, found.error) == (2, None, "")


@pytest.mark.parametrize("event", [{"choices": 5}, {"choices": {"a": 1}}, {"choices": [5, {"delta": 3}]}, [1], 7])
def test_an_event_of_another_shape(event: object) -> None:
    assert asked(event, TEXT).tokens == 1


@pytest.mark.parametrize("piece", [b"{", b"[" * 100_000])
def test_a_piece_that_is_no_json(piece: bytes) -> None:
    assert asked(TEXT, piece).error == "a piece of the stream is not JSON"


def test_a_line_without_end_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ask, "LONGEST", 1000)
    assert asked(b"x" * 2000, end=b"").error == "a piece of the stream is not JSON"  # it has an end
    assert asked(TEXT, end=b"data: " + b"x" * 2000).error == "a line of the stream is longer than 1000 bytes"


def test_a_stream_without_end_and_a_refusal() -> None:
    assert asked(TEXT, end=b"").error == "the stream ended without an end"
    assert asked(status=401, end=b'{"error":\n "no key"}').error == '401: {"error": "no key"}'


def test_a_fault_is_told_in_its_own_words() -> None:
    async def run() -> Record:
        def fail(request: httpx.Request) -> httpx.Response:
            raise httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed\ncertificate", request=request)

        async with httpx.AsyncClient(transport=httpx.MockTransport(fail)) as client:
            request = Request("/v1/completions", {"prompt": "x"})
            return await ask.ask(client, "http://h", "m", request, clock=lambda: 0.0, within=9)

    assert asyncio.run(run()).error == "ConnectError: [SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate"
