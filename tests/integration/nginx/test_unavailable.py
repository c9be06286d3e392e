"""Nobody is there: 503 with a time to come again, in the shape that clients read, and never a 502."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from tests.integration.nginx.client import ask
from tests.integration.nginx.raw import Backend, Request
from tests.integration.proxy import Copy, Proxy, site

CHAT = "/v1/chat/completions"


@pytest.fixture(scope="module")
def backend() -> Iterator[Backend]:
    with Backend() as backend:
        yield backend


@pytest.fixture(scope="module")
def proxy(backend: Backend) -> Iterator[Proxy]:
    with Proxy(site([Copy(backend.host, backend.port)])) as proxy:
        yield proxy


@pytest.fixture
def empty(proxy: Proxy) -> Iterator[Proxy]:
    proxy.members([])
    yield proxy
    proxy.members(proxy.backends)


def test_an_empty_pool_answers_503(empty: Proxy, backend: Backend) -> None:
    backend.requests.clear()
    answer = ask(empty.port(), CHAT, b"{}")
    assert (answer.status, answer.headers["content-type"]) == (503, "application/json")
    assert answer.error == {
        "message": "No copy of this model can answer now. Retry after the seconds in Retry-After.",
        "type": "service_unavailable_error",
        "param": None,
        "code": 503,
    }
    assert backend.requests == []


def test_clients_are_told_different_times(empty: Proxy) -> None:
    waits = Counter(int(ask(empty.port(), CHAT, b"{}").headers["retry-after"]) for _ in range(300))
    assert set(waits) == set(range(2, 11))
    assert max(waits.values()) < 75


def test_a_large_request_to_an_empty_pool_gets_its_answer(empty: Proxy) -> None:
    assert ask(empty.port(), CHAT, b"x" * 3_000_000).status == 503


def test_the_first_copy_that_is_there_is_used_at_once(proxy: Proxy, backend: Backend) -> None:
    proxy.members([])
    assert ask(proxy.port(), CHAT, b"{}").status == 503
    proxy.members(proxy.backends)
    assert ask(proxy.port(), CHAT, b"{}").status == 200


@pytest.mark.parametrize("status", [400, 401, 404, 422, 429, 500, 502, 503, 504])
def test_an_engines_own_errors_pass_as_they_are(proxy: Proxy, backend: Backend, status: int) -> None:
    body = b'{"error":{"message":"the engine said so"}}'

    def refuse(connection: object, request: Request) -> None:
        head = f"HTTP/1.1 {status} Some words\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)  # type: ignore[attr-defined]

    before, backend.handle = backend.handle, refuse
    try:
        answer = ask(proxy.port(), CHAT, b"{}")
    finally:
        backend.handle = before
    assert (answer.status, answer.body) == (status, body)
    assert "retry-after" not in answer.headers
