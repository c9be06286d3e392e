"""O06, O12, O14: what an engine is told of a request, and who may see the engines' key."""

from __future__ import annotations

import socket
from contextlib import ExitStack

import pytest

from tests.integration.nginx.client import Client, ask
from tests.integration.nginx.engine import Engine
from tests.integration.nginx.raw import OK, Backend, Request
from tests.integration.proxy import KEY, Copy, Proxy, site

CHAT = "/v1/chat/completions"
BEARER = f"Bearer {KEY}"


def test_the_key_replaces_what_the_client_sent(proxy: Proxy, engine: Engine) -> None:
    ask(proxy.port(), CHAT, b"{}", headers=("Authorization: Bearer sk-client", "X-Api-Key: sk-ant-client"))
    ask(proxy.port(), "/v1/models", method="GET")
    assert [call.headers["authorization"] for call in engine.calls] == [BEARER, BEARER]
    assert "x-api-key" not in engine.calls[0].headers


@pytest.mark.parametrize("host", ["client.example", "under_score", "[::1]:8080", "127.0.0.1"])
def test_host_is_one_that_every_engine_takes(proxy: Proxy, engine: Engine, host: str) -> None:
    with Client(proxy.port()) as client:
        client.raw(f"GET /v1/models HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        client.answer()
    assert [call.headers["host"] for call in engine.calls] == ["localhost"]


def test_a_client_of_http_1_0_is_served(proxy: Proxy, engine: Engine) -> None:
    with Client(proxy.port()) as client:
        client.raw(b"GET /v1/models HTTP/1.0\r\n\r\n")
        assert client.head().status == 200
    assert engine.calls[0].headers["host"] == "localhost"


def test_a_browser_may_ask_vllm_which_origins_it_takes(proxy: Proxy, engine: Engine) -> None:
    ask(proxy.port(), CHAT, method="OPTIONS", headers=("Origin: http://app.example",))
    assert (engine.calls[0].method, engine.calls[0].headers["origin"]) == ("OPTIONS", "http://app.example")


def test_upgrade_only_when_asked_for() -> None:
    """A WebSocket handshake and a plain POST through the same proxy (tastyeffectco/sandboxd#77)."""

    def upgrade(connection: socket.socket, request: Request) -> None:
        if "upgrade" in request.headers:
            connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
            connection.sendall(b"echo " + connection.recv(100))
            connection.shutdown(socket.SHUT_RDWR)
        else:
            connection.sendall(OK)

    with Backend(upgrade) as backend, Proxy(site([Copy(backend.host, backend.port)])) as proxy:
        assert ask(proxy.port(), CHAT, b"{}", headers=("Connection: close, x-odd",)).status == 200
        with Client(proxy.port()) as client:
            client.send("/v1/realtime", method="GET", headers=("Upgrade: websocket", "Connection: Upgrade"))
            assert client.head().status == 101
            client.raw(b"frame")
            assert client._until(b"frame") == b"echo "
        h2c = ("Upgrade: h2c", "Connection: Upgrade, HTTP2-Settings", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA")
        assert ask(proxy.port(), CHAT, b"{}", headers=h2c).status == 200
    plain, handshake, smuggled = backend.requests
    assert not {"connection", "upgrade"} & set(smuggled.headers)
    assert "connection" not in plain.headers
    assert "upgrade" not in plain.headers
    assert (handshake.headers["connection"], handshake.headers["upgrade"]) == ("upgrade", "websocket")


def test_a_box_that_must_not_know_the_key_does_not_get_it() -> None:
    """One pool: a copy of floor's, someone else's server, an Ollama, and one that was given the key on purpose."""
    with ExitStack() as stack:
        ours, other, ollama, trusted = (
            stack.enter_context(Backend(host=f"127.0.0.{number}")) for number in (2, 3, 4, 5)
        )
        text = site(
            [
                Copy(ours.host, ours.port),
                Copy(other.host, other.port, managed=False),
                Copy(ollama.host, ollama.port, managed=False, engine="ollama"),
                Copy(trusted.host, trusted.port, managed=False, key="engine"),
            ]
        )
        proxy = stack.enter_context(Proxy(text))
        for _ in range(12):
            headers = ("Origin: http://app.example", "Authorization: Bearer sk-client", "X-Api-Key: sk-client")
            assert ask(proxy.port(), CHAT, b"{}", headers=headers).status == 200
        seen = {
            name: _seen(backend)
            for name, backend in {"ours": ours, "other": other, "ollama": ollama, "trusted": trusted}.items()
        }
    assert seen == {
        "ours": {("localhost", BEARER, "http://app.example")},
        "other": {("localhost", None, "http://app.example")},
        "ollama": {("localhost", None, None)},
        "trusted": {("localhost", BEARER, "http://app.example")},
    }


def test_an_engine_that_closes_without_a_word_gets_a_connection_for_each_request() -> None:
    """llama.cpp's server does; vLLM keeps what it is given."""
    with Backend(host="127.0.0.2") as keeps, Backend(host="127.0.0.3") as closes:
        copies = [
            Copy(keeps.host, keeps.port, managed=False),
            Copy(closes.host, closes.port, managed=False, engine="llamacpp"),
        ]
        with Proxy(site(copies)) as proxy:
            for _ in range(8):
                assert ask(proxy.port(), CHAT, b"{}").status == 200
    assert {request.headers.get("connection") for request in keeps.requests} == {None}
    assert {request.headers.get("connection") for request in closes.requests} == {"close"}


def _seen(backend: Backend) -> set[tuple[str | None, str | None, str | None]]:
    assert all("x-api-key" not in request.headers and request.target == CHAT for request in backend.requests)
    names = ("host", "authorization", "origin")
    return {tuple(request.headers.get(name) for name in names) for request in backend.requests}  # type: ignore[misc]


def test_a_pool_of_strangers_has_no_detour_and_no_key() -> None:
    with Backend() as backend:
        proxy = Proxy(site([Copy(backend.host, backend.port, managed=False)]))
        assert "detour" not in "".join(proxy.files.values())
        with proxy:
            ask(proxy.port(), CHAT, b"{}", headers=("Authorization: Bearer sk-client",))
    assert "authorization" not in backend.requests[0].headers


def test_streams_and_leaving_clients_pass_a_detour() -> None:
    with Engine() as ours, Engine(host="127.0.0.3") as other:
        text = site([Copy(ours.host, ours.port), Copy(other.host, other.port, managed=False)])
        with Proxy(text) as proxy:
            proxy.members(["flagship@box1"])
            with Client(proxy.port()) as client:
                client.send(CHAT, b'{"stream": true}')
                proxy.until(lambda: other.streaming, "the stream to reach the engine")
                other.permit()
                client.head()
                for number in range(1, 6):
                    assert client.chunk() == f"data: {number}\n\n".encode()
                    assert other.sent <= number
                    other.permit()
            proxy.until(lambda: other.calls[0].left is not None, "the engine to see that the client left")


def test_a_detour_to_nobody_is_503() -> None:
    with Backend() as ours:
        text = site([Copy(ours.host, ours.port), Copy("127.0.0.3", 9, managed=False)])
        with Proxy(text) as proxy:
            proxy.members(["flagship@box1"])
            answer = ask(proxy.port(), CHAT, b"{}")
            assert (answer.status, 2 <= int(answer.headers["retry-after"]) <= 10) == (503, True)
            proxy.until(
                lambda: [line["status"] for line in proxy.log()] == [503], "the line of the request, and no other"
            )
