"""The inference API and the model list pass, nothing else does, and no spelling gets around that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from floor.desired.routes import PATTERNS, ROUTES
from tests.integration.nginx.client import Client, ask
from tests.integration.nginx.engine import Engine
from tests.integration.proxy import Proxy

CASES = Path(__file__).parents[2] / "cases"
TRICKS: list[dict[str, Any]] = yaml.safe_load((CASES / "proxy/tricks.yaml").read_text())
ALLOWED = {route.path: route.method for route in ROUTES} | {
    f"{pattern.before}{{response_id}}{pattern.after}": pattern.method for pattern in PATTERNS
}


def _routes() -> Iterator[tuple[str, str]]:
    """Every path and method of a real vLLM 0.32."""
    for line in (CASES / "vllm/routes.txt").read_text().splitlines():
        methods, path = line.split(" ")
        for method in methods.split(","):
            yield method, path


@pytest.mark.parametrize(("method", "path"), list(_routes()))
def test_every_path_of_a_real_engine(proxy: Proxy, engine: Engine, method: str, path: str) -> None:
    """The engine here would answer every one of them."""
    target = path.replace("{response_id}", "resp_0a-1b")
    answer = ask(proxy.port(), target, b"{}" if method == "POST" else b"", method)
    if path in ALLOWED:
        assert (answer.status, answer.body) == (200, b"reached " + target.encode())
    else:
        assert (answer.status, answer.error["code"], engine.calls) == (404, 404, [])


@pytest.mark.parametrize(
    "path",
    [
        "/docs",
        "/redoc",
        "/openapi.json",
        "/server_info",
        "/sleep",
        "/wake_up",
        "/reset_prefix_cache",
        "/collective_rpc",
        "/v1/unload_lora_adapter",
        "/stop_profile",
        "/abort_requests",
        "/rerank",
        "/score",
        "/classify",
        "/pooling",
        "/slots",
        "/props",
        "/api/generate",
        "/api/pull",
        "/get_server_info",
        "/flush_cache",
    ],
)
def test_paths_of_other_set_ups_and_engines(proxy: Proxy, engine: Engine, path: str) -> None:
    assert {ask(proxy.port(), path, b"{}" * (method == "POST"), method).status for method in ("GET", "POST")} == {404}
    assert engine.calls == []


@pytest.mark.parametrize("trick", TRICKS, ids=[f"{trick.get('method', '')}{trick['target']}" for trick in TRICKS])
def test_no_spelling_gets_around_the_list(proxy: Proxy, engine: Engine, trick: dict[str, Any]) -> None:
    answer = ask(proxy.port(), trick["target"], method=trick.get("method", "GET"))
    if "reaches" in trick:
        assert (answer.status, [call.path for call in engine.calls]) == (200, [trick["reaches"]])
    else:
        assert (answer.status, engine.calls) == (trick.get("status", 404), [])
        assert answer.error["message"]


@pytest.mark.parametrize("path", [path.replace("{response_id}", "resp_1") for path in ALLOWED])
def test_methods_are_those_of_the_path(proxy: Proxy, engine: Engine, path: str) -> None:
    allowed = ALLOWED[path.replace("resp_1", "{response_id}")]
    for method in ("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "TRACE", "CONNECT", "PROPFIND", "OPTIONS"):
        with Client(proxy.port()) as client:
            answer = client.ask(path, method=method)
        assert (answer.status == 200) is (method in (allowed, "OPTIONS")), method
        if method not in (allowed, "OPTIONS", "TRACE", "CONNECT"):
            assert (answer.status, answer.headers["allow"]) == (405, f"{allowed}, OPTIONS")
    assert {call.method for call in engine.calls} == {allowed, "OPTIONS"}


def test_the_proxy_tells_of_itself_without_asking_an_engine(proxy: Proxy, engine: Engine) -> None:
    answer = ask(proxy.port(), "/floor/health", method="GET")
    assert (answer.status, answer.body, engine.calls) == (200, b'{"proxy": "up"}', [])


@pytest.mark.parametrize(
    "data",
    [
        b"GARBAGE\r\n\r\n",
        b"GET /v1/models HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n",
        b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
        b"GET /v1/models HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 40000 + b"\r\n\r\n",
    ],
    ids=["no-request", "two-hosts", "no-length", "two-lengths", "unknown-encoding", "large-header"],
)
def test_what_is_no_request_is_refused_in_json(proxy: Proxy, engine: Engine, data: bytes) -> None:
    with Client(proxy.port()) as client:
        client.raw(data)
        answer = client.answer()
    assert (answer.status, engine.calls) == (400, [])
    assert answer.error["type"] == "invalid_request_error"


def test_a_path_that_is_too_long_is_refused_in_json(proxy: Proxy) -> None:
    answer = ask(proxy.port(), "/v1/models?" + "x" * 40000, method="GET")
    assert (answer.status, answer.error["message"]) == (414, "The path is too long.")
