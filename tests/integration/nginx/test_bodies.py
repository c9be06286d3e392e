"""O13: long prompts, images and chunked requests arrive whole, and the limit names itself."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import pytest

from tests.integration.nginx.client import Client, ask
from tests.integration.nginx.engine import Engine
from tests.integration.proxy import Copy, Proxy, site

CHAT = "/v1/chat/completions"
LIMIT = 2**20 * 4


@pytest.fixture(scope="module")
def proxy(engine: Engine) -> Iterator[Proxy]:
    with Proxy(site([Copy(engine.host, engine.port)], max_body="4MiB")) as proxy:
        yield proxy


def _chunked(body: bytes, size: int) -> bytes:
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


@pytest.mark.parametrize("size", [0, 7, 200_000, 1_000_000, LIMIT])
@pytest.mark.parametrize("chunked", [False, True], ids=["whole", "chunked"])
def test_a_body_arrives_whole_and_with_its_length(proxy: Proxy, engine: Engine, size: int, chunked: bool) -> None:
    body = hashlib.sha256(b"x").digest() * (size // 32) + b"y" * (size % 32)
    sent, headers = (_chunked(body, 60_000), ("Transfer-Encoding: chunked",)) if chunked else (body, ())
    answer = ask(proxy.port(), CHAT, sent, headers=headers)
    assert (answer.status, answer.body) == (200, b"reached " + CHAT.encode())
    (call,) = engine.calls
    assert call.body == body
    assert call.headers.get("content-length", "0") == str(size)
    assert "transfer-encoding" not in call.headers


@pytest.mark.parametrize("chunked", [False, True], ids=["whole", "chunked"])
def test_over_the_limit_the_answer_names_it(proxy: Proxy, engine: Engine, chunked: bool) -> None:
    body = b"x" * (LIMIT + 200_000)
    sent, headers = (_chunked(body, 60_000), ("Transfer-Encoding: chunked",)) if chunked else (body, ())
    answer = ask(proxy.port(), CHAT, sent, headers=headers)
    assert (answer.status, engine.calls) == (413, [])
    assert answer.error == {
        "message": "The request is larger than 4 MiB, the limit of this proxy (proxy.max_body in floor.yaml).",
        "type": "invalid_request_error",
        "param": None,
        "code": 413,
    }


def test_expect_is_answered(proxy: Proxy, engine: Engine) -> None:
    """curl waits for it before it sends a long prompt."""
    with Client(proxy.port()) as client:
        client.raw(b"POST %b HTTP/1.1\r\nHost: a\r\nContent-Length: 7\r\nExpect: 100-continue\r\n\r\n" % CHAT.encode())
        assert client.head().status == 100
        client.raw(b"1234567")
        assert client.answer().status == 200
    assert engine.calls[0].body == b"1234567"


def test_a_slow_upload_does_not_occupy_an_engine(proxy: Proxy, engine: Engine) -> None:
    with Client(proxy.port()) as client:
        client.send(CHAT, b"", headers=("Content-Length: 10",))
        client.raw(b"12345")
        ask(proxy.port(), "/v1/models", method="GET")
        assert [call.path for call in engine.calls] == ["/v1/models"]
        client.raw(b"67890")
        assert client.answer().status == 200
    assert engine.calls[1].body == b"1234567890"
