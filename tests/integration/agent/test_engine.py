"""An engine asked from its box, with the box's own key."""

from __future__ import annotations

import socket
import threading
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from floor.apply.local import LocalTransport
from floor.box import secrets
from floor.box.locked import mine
from floor.errors import BoxError
from floor.sim.process import SimulatedEngine

from .conftest import KEY


@pytest.fixture
def asked(engine: SimulatedEngine, tmp_path: Path) -> dict[str, Any]:
    secrets.put(KEY, "s" * 30, tmp_path, mine())
    return {"backend": "flagship@spark-a", "url": engine.url, "model": "flagship", "dialect": "vllm", "key": True}


def test_an_engine_that_works_generates(box: LocalTransport, asked: dict[str, Any]) -> None:
    verdict = box.call("engine.check", asked)
    assert (verdict["level"], verdict["reason"], verdict["healthy"]) == (3, "ok", True)
    assert verdict["backend"] == "flagship@spark-a"


def test_without_the_key_it_is_told_that_one_is_asked_for(box: LocalTransport, asked: dict[str, Any]) -> None:
    verdict = box.call("engine.check", {**asked, "key": False})
    assert verdict["reason"] == "auth_required"


def test_a_box_without_a_key_says_what_to_do(box: LocalTransport, asked: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "etc/floor/secrets/engine.key").unlink()
    with pytest.raises(BoxError, match="asks for the engine key, and this box has none; run floor deploy"):
        box.call("engine.check", asked)


def test_an_idle_engine_is_idle(box: LocalTransport, asked: dict[str, Any]) -> None:
    answer = box.call("engine.idle", asked)
    assert (answer["idle"], answer["running"], answer["waiting"], answer["reason"]) == (True, 0, 0, "")


def test_an_engine_at_work_is_idle_when_it_has_finished(box: LocalTransport, asked: dict[str, Any]) -> None:
    body = {"model": "flagship", "messages": [{"role": "user", "content": "x"}], "max_tokens": 20_000, "stream": True}
    headers = {"authorization": f"Bearer {KEY}"}
    url = f"{asked['url']}/v1/chat/completions"
    with httpx.stream("POST", url, json={**body, "ignore_eos": True}, headers=headers, timeout=60) as response:
        assert response.status_code == 200
        lines = response.iter_lines()  # kept: the response ends with its iterator
        next(lines)
        busy = box.call("engine.idle", {**asked, "timeout": 0})
    assert (busy["idle"], busy["running"]) == (False, 1)
    assert busy["connections"] >= 1
    assert box.call("engine.idle", {**asked, "timeout": 20})["idle"] is True


def test_an_engine_that_is_gone_has_nothing_left_to_finish(box: LocalTransport, asked: dict[str, Any]) -> None:
    answer = box.call("engine.idle", {**asked, "url": "http://127.0.0.1:1"})
    assert answer["idle"] is True
    assert answer["reason"].startswith("nothing answers there: ")


def test_an_engine_without_counts_is_judged_by_its_connections(box: LocalTransport, asked: dict[str, Any]) -> None:
    """A server of somebody that has no metrics page."""
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        server.RequestHandlerClass.log_message = lambda *_words: None  # type: ignore[assignment, method-assign]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        wanted = {**asked, "url": f"http://127.0.0.1:{server.server_port}", "timeout": 0}
        quiet = box.call("engine.idle", wanted)
        with socket.create_connection(("127.0.0.1", server.server_port)):
            busy = box.call("engine.idle", wanted)
        server.shutdown()
    assert (quiet["idle"], quiet["running"], quiet["connections"]) == (True, None, 0)
    assert (busy["idle"], busy["connections"]) == (False, 1)
    assert busy["reason"].startswith("it does not tell what it works on (")


def test_an_engine_that_has_all_the_connections_it_can_hold_is_not_gone(
    box: LocalTransport, asked: dict[str, Any]
) -> None:
    """It accepts none while it works: who asks it waits in vain, and that is no sign that nobody is there."""
    with ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=1))
        for _ in range(4):  # the kernel takes two of them
            client = stack.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(server.getsockname())
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        busy = box.call("engine.idle", {**asked, "url": url, "timeout": 0})
    assert (busy["idle"], busy["running"], busy["connections"]) == (False, None, 2)
    assert busy["reason"] == "it does not tell what it works on (it takes no connection); connections count"
