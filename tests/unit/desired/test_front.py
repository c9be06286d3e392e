"""Who is reached how: directly with the headers that most want, or by a detour with others."""

from __future__ import annotations

from typing import Any

import pytest

from floor.config import parse
from floor.desired.front import Front, fronts, upstream
from floor.desired.state import BoxFacts

RUNTIME = "source: /m, utilization: 0.1, runtime: {kind: native, command: /x}"


def _front(*copies: str, facts: dict[str, BoxFacts] | None = None, **unmanaged: str) -> Front:
    boxes = {"a": "{host: 192.0.2.1}", "b": "{host: 192.0.2.2}"}
    boxes |= {name: f"{{host: {host}, managed: false}}" for name, host in unmanaged.items()}
    lines = "\n".join(f"  {name}: {text}" for name, text in boxes.items())
    text = f"boxes:\n{lines}\nmodels:\n  m: {{{RUNTIME}, replicas: [{', '.join(copies)}]}}\nproxy: {{boxes: [a]}}\n"
    config = parse(text)
    known = {
        name: BoxFacts(box.host if box.host[0].isdigit() or ":" in box.host else "198.51.100.9")
        for name, box in config.boxes.items()
    }
    (found,) = fronts(config, {**known, **(facts or {})})
    return found


def _ways(front: Front) -> dict[str, str]:
    return {backend.copy.box: "detour" if backend.socket else "direct" for backend in front.backends}


def _wanted(front: Front, box: str) -> tuple[bool, str, tuple[str, ...]]:
    headers = next(backend.headers for backend in front.backends if backend.copy.box == box)
    return headers.key, headers.host, headers.drop


@pytest.mark.parametrize(
    ("copies", "unmanaged", "ways"),
    [
        (["a", "b"], {}, {"a": "direct", "b": "direct"}),
        (["a", "mac"], {"mac": "192.0.2.3"}, {"a": "direct", "mac": "detour"}),
        (["mac", "a"], {"mac": "192.0.2.3"}, {"a": "direct", "mac": "detour"}),
        (["a", "{box: mac, key: engine}"], {"mac": "192.0.2.3"}, {"a": "direct", "mac": "direct"}),
        (["a", "{box: mac, key: engine, engine: ollama}"], {"mac": "192.0.2.3"}, {"a": "direct", "mac": "detour"}),
        (["a", "x", "z"], {"x": "192.0.2.3", "z": "192.0.2.4"}, {"a": "detour", "x": "direct", "z": "direct"}),
        (["a", "{box: x, key: engine}"], {"x": "llm.example"}, {"a": "direct", "x": "detour"}),
    ],
    ids=["ours", "a-stranger", "a-stranger-first", "a-friend", "an-ollama", "mostly-strangers", "a-name"],
)
def test_ways(copies: list[str], unmanaged: dict[str, Any], ways: dict[str, str]) -> None:
    assert _ways(_front(*copies, **unmanaged)) == ways


def test_a_stranger_never_gets_the_key() -> None:
    front = _front("a", "b", "mac", mac="192.0.2.3")
    assert front.headers.key is True
    assert _wanted(front, "mac") == (False, "localhost", ())


def test_someone_elses_server_is_called_by_its_name() -> None:
    assert _wanted(_front("a", "x", x="llm.example"), "x") == (False, "llm.example:8000", ())


def test_ollama_hears_no_origin() -> None:
    assert _wanted(_front("a", "{box: mac, engine: ollama}", mac="192.0.2.3"), "mac") == (
        False,
        "localhost",
        ("Origin",),
    )


def test_what_did_not_resolve_is_left_out() -> None:
    """O09. One name that does not resolve would keep nginx from starting."""
    front = _front("a", "b", facts={"b": BoxFacts(None)})
    assert [backend.copy.backend for backend in front.backends] == ["m@a"]


def test_nobody_resolved_is_an_empty_pool() -> None:
    front = _front("a", facts={"a": BoxFacts(None)})
    assert (front.backends, front.headers.key) == ((), True)


def test_addresses_of_ipv6_have_brackets() -> None:
    front = _front("a", "b", facts={"b": BoxFacts("fd00::2", True)})
    assert [backend.server for backend in front.backends] == ["192.0.2.1:8000", "[fd00::2]:8000"]


def test_a_sockets_path_is_short_whatever_the_names_are() -> None:
    box = "b" * 40
    front = _front("a", box, **{box: "192.0.2.3"})
    socket = front.backends[1].socket
    assert socket is not None
    assert len(f"/tmp/fl-12345678{socket}") < 107


@pytest.mark.parametrize(("model", "name"), [("flagship", "floor_flagship"), ("a.b-c", "floor_a_b_c")])
def test_upstreams(model: str, name: str) -> None:
    assert upstream(model) == name
