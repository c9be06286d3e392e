"""O01, O02, O04, O05, O09: who gets a request when a copy does not answer, and that nobody gets it twice."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import httpx
import pytest

from tests.integration.nginx.client import ask
from tests.integration.nginx.raw import OK, Backend, Request, answer, drop
from tests.integration.proxy import Copy, Proxy, free_port, site

CHAT = "/v1/chat/completions"
BODY = b'{"messages": []}'


@contextmanager
def _pair(request_time: float = 30, **proxy: object) -> Iterator[tuple[Proxy, Backend, Backend]]:
    with ExitStack() as stack:
        one, two = (stack.enter_context(Backend(host=host)) for host in ("127.0.0.2", "127.0.0.3"))
        text = site([Copy(one.host, one.port), Copy(two.host, two.port)], request_time=request_time, **proxy)
        yield stack.enter_context(Proxy(text)), one, two


def test_refused_goes_to_the_other_copy() -> None:
    with _pair() as (proxy, one, two):
        one.close()
        for _ in range(6):
            assert ask(proxy.port(), CHAT, BODY).status == 200
        assert len(two.requests) == 6


def test_a_copy_that_came_back_is_used_at_once() -> None:
    """Default max_fails would keep it out for ten seconds, the settings in vLLM's own documents for 2.8 hours."""
    with _pair() as (proxy, one, _):
        one.close()
        for _ in range(6):
            ask(proxy.port(), CHAT, BODY)
        with Backend(host=one.host, port=one.port) as back:
            for _ in range(6):
                ask(proxy.port(), CHAT, BODY)
            assert len(back.requests) >= 2


def test_a_request_that_killed_its_engine_is_not_sent_to_another() -> None:
    with _pair() as (proxy, one, two):
        one.handle = two.handle = drop
        answered = ask(proxy.port(), CHAT, BODY)
        assert (answered.status, answered.error["code"]) == (503, 503)
        assert len(one.requests) + len(two.requests) == 1


def test_a_request_that_timed_out_is_not_sent_to_another_and_puts_no_copy_out() -> None:
    def silent(connection: socket.socket, request: Request) -> None:
        connection.recv(1)

    with _pair(request_time=1) as (proxy, one, two):
        one.handle = two.handle = silent
        began = time.monotonic()
        assert ask(proxy.port(), CHAT, BODY).status == 503
        assert 1 <= time.monotonic() - began < 1.6
        assert ask(proxy.port(), "/v1/models", method="GET").status == 503  # a method that might be repeated
        assert len(one.requests) + len(two.requests) == 2
        one.handle = two.handle = answer
        assert {ask(proxy.port(), CHAT, BODY).status for _ in range(6)} == {200}


def test_a_prompt_may_be_silent_for_its_whole_time() -> None:
    def late(connection: socket.socket, request: Request) -> None:
        time.sleep(1.2)
        connection.sendall(OK)

    with _pair(request_time=2) as (proxy, one, two):
        one.handle = two.handle = late
        assert ask(proxy.port(), CHAT, BODY).status == 200


def test_odd_requests_put_no_copy_out() -> None:
    """nginx's default counts a dropped request as a failure; one each and both copies would be out, 502 for all."""
    with _pair() as (proxy, one, two):
        one.handle = two.handle = drop
        assert {ask(proxy.port(), "/", method="HEAD").status for _ in range(4)} == {404}
        assert {ask(proxy.port(), CHAT, BODY).status for _ in range(4)} == {503}
        one.handle = two.handle = answer
        assert {ask(proxy.port(), CHAT, BODY).status for _ in range(8)} == {200}


def test_a_box_that_does_not_answer_costs_the_connect_timeout_and_no_more() -> None:
    """A full accept queue stands for a box without power: the kernel answers nothing to a new connection."""
    with socket.create_server(("127.0.0.2", 0), backlog=0) as gone, Backend(host="127.0.0.3") as other:
        port = gone.getsockname()[1]
        fill = [socket.socket() for _ in range(8)]
        for one in fill:
            one.setblocking(False)
            one.connect_ex(("127.0.0.2", port))
        text = site([Copy("127.0.0.2", port), Copy(other.host, other.port)], connect_timeout=0.3)
        with Proxy(text) as proxy:
            times = []
            for _ in range(4):
                began = time.monotonic()
                assert ask(proxy.port(), CHAT, BODY).status == 200
                times.append(time.monotonic() - began)
            assert 0.3 <= max(times) < 0.8
        for one in fill:
            one.close()


@pytest.mark.parametrize("count", [1, 2, 5])
def test_when_all_refuse_the_answer_is_503(count: int) -> None:
    copies = [Copy(host, free_port(host)) for host in (f"127.0.0.{2 + number}" for number in range(count))]
    with Proxy(site(copies)) as proxy:
        for _ in range(4):
            answered = ask(proxy.port(), CHAT, BODY)
            assert answered.status == 503
            assert 2 <= int(answered.headers["retry-after"]) <= 10
        assert "502" not in {str(line["status"]) for line in proxy.log()}


def test_a_name_that_does_not_resolve_costs_its_own_copy_only() -> None:
    with Backend() as backend:
        text = site([Copy(backend.host, backend.port), Copy("127.0.0.3", 8000)])
        with Proxy(text, addresses={"box1": None}) as proxy:
            assert proxy.backends == ["flagship@box0"]
            assert ask(proxy.port(), CHAT, BODY).status == 200


def test_idle_connections_are_given_up_before_the_engine_does() -> None:
    """uvicorn closes after 5 s of idleness (Kludex/uvicorn#344): the proxy must not send into a closing connection."""
    closed: list[float] = []

    def idle(connection: socket.socket, request: Request) -> None:
        connection.sendall(OK)
        began = time.monotonic()
        connection.settimeout(4.5)
        if connection.recv(1, socket.MSG_PEEK) == b"":
            closed.append(time.monotonic() - began)

    with Backend(idle) as backend, Proxy(site([Copy(backend.host, backend.port)])) as proxy:
        assert ask(proxy.port(), CHAT, BODY).status == 200
        proxy.until(lambda: closed, "the proxy to close its idle connection", timeout=5)
        assert 2.5 < closed[0] < 4


def test_connections_to_an_engine_are_kept() -> None:
    with Backend() as backend, Proxy(site([Copy(backend.host, backend.port)])) as proxy:
        for _ in range(20):
            assert ask(proxy.port(), CHAT, BODY).status == 200
        assert backend.connections <= len(proxy.workers())


def test_reloads_lose_no_request() -> None:
    """Clients that keep connections and never retry: each reload would cut those that are idle just then."""
    with Backend() as backend, Proxy(site([Copy(backend.host, backend.port)])) as proxy:
        stop, failed, served = threading.Event(), [], []

        def steadily() -> None:
            with httpx.Client() as client:
                while not stop.is_set():
                    try:
                        served.append(client.post(proxy.url + CHAT, content=BODY).status_code)
                    except httpx.HTTPError as error:
                        failed.append(repr(error))

        threads = [threading.Thread(target=steadily) for _ in range(6)]
        for thread in threads:
            thread.start()
        for _ in range(8):
            proxy.reload()
        stop.set()
        for thread in threads:
            thread.join()
    assert (set(served), failed) == ({200}, [])
    assert len(served) > 200
