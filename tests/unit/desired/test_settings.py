"""What services are told: their own readers take it, and both sides mean the same thing."""

from __future__ import annotations

import json
from typing import Any

from floor.box.document import Document
from floor.desired.state import BoxState
from floor.pool import settings
from tests.unit.desired.example import make


def _json(state: BoxState, name: str) -> Any:
    file = state.file(f"/etc/floor/{name}")
    assert file is not None, name
    return json.loads(file.text)


def _pool(state: BoxState) -> settings.Settings:
    return settings.read(Document(_json(state, "pool.json"), "pool.json"), "pool.json")


def test_the_pool_reads_what_it_is_told(states: dict[str, BoxState]) -> None:
    found = _pool(states["spark-a"])
    assert [(pool.model, pool.upstream) for pool in found.pools] == [
        ("flagship", "floor_flagship"),
        ("small.embed", "floor_small_embed"),
    ]
    assert [backend.name for backend in found.backends] == [
        *("flagship@spark-a", "flagship@spark-b", "flagship@mac"),
        "small.embed@spark-b",
    ]
    assert (found.interval, str(found.key_file)) == (0.5, "/etc/floor/secrets/engine.key")


def test_a_copy_of_floors_own(states: dict[str, BoxState]) -> None:
    backend = _json(states["spark-a"], "pool.json")["pools"][0]["backends"][1]
    assert backend == {
        "name": "flagship@spark-b",
        "url": "http://192.0.2.12:8000",
        "address": "192.0.2.12",
        "port": 8000,
        "server": "192.0.2.12:8000",
        "weight": 3,
        "box": "spark-b",
        "unit": "floor-copy-flagship.service",
        "status_url": "http://192.0.2.12:9000/status",
        "dialect": "vllm",
        "key": True,
        "stall": 120.0,
        "min_speed": 2.5,
    }


def test_a_copy_of_someone_else(states: dict[str, BoxState]) -> None:
    backend = _json(states["spark-a"], "pool.json")["pools"][0]["backends"][2]
    assert (backend["unit"], backend["status_url"], backend["key"]) == (None, None, False)
    assert (backend["url"], backend["address"]) == ("http://192.0.2.20:8000", "192.0.2.20")
    assert backend["server"].startswith("unix:/run/floor/nginx/detour-")


def test_idle_connections_are_let_go_before_the_engine_does(states: dict[str, BoxState]) -> None:
    """O05. uvicorn closes after 5 s."""
    assert {pool.idle for pool in _pool(states["spark-a"]).pools} == {3.0}


def test_an_engine_listens_where_its_member_is(states: dict[str, BoxState]) -> None:
    """O07. One value for both, and an address: a name can be two of them."""
    for backend in _pool(states["spark-a"]).backends:
        for unit in (unit for state in states.values() for unit in state.units if unit.backend == backend.name):
            words = unit.launch.argv
            listens = (words[words.index("--host") + 1], int(words[words.index("--port") + 1]))
            assert listens == (backend.address, backend.port)
            assert backend.url == f"http://{backend.address}:{backend.port}"


def test_the_warm_up_is_told_where_and_what(states: dict[str, BoxState]) -> None:
    assert _json(states["spark-b"], "engines/flagship.json") == {
        "backend": "flagship@spark-b",
        "url": "http://192.0.2.12:8000",
        "model": "flagship",
        "dialect": "vllm",
        "key_file": "/etc/floor/secrets/engine.key",
        "start_time": 2400.0,
        "context": 262144,
        "stall": 120.0,
        "min_speed": 2.5,
    }


def test_the_status_port_is_told_of_every_unit(states: dict[str, BoxState]) -> None:
    assert _json(states["spark-b"], "agent.json") == {
        "listen": "192.0.2.12",
        "port": 9000,
        "key_file": "/etc/floor/secrets/status.key",
        "units": ["floor.target", "floor-copy-flagship.service", "floor-copy-small.embed.service"],
    }


def test_a_box_whose_name_did_not_resolve_listens_on_the_name() -> None:
    states = make(addresses={"spark-a": "192.0.2.11", "spark-b": None, "mac": "192.0.2.20"})
    assert _json(states["spark-b"], "agent.json")["listen"] == "spark-b.example"
    assert _json(states["spark-b"], "engines/flagship.json")["url"] == "http://spark-b.example:8000"
    assert [backend.name for backend in _pool(states["spark-a"]).backends] == ["flagship@spark-a", "flagship@mac"]


def test_addresses_of_ipv6_have_brackets_in_urls_only() -> None:
    states = make(addresses={"spark-a": "192.0.2.11", "spark-b": "fd00::2", "mac": None})
    backend = _pool(states["spark-a"]).backends[1]
    assert (backend.url, backend.address, backend.server) == ("http://[fd00::2]:8000", "fd00::2", "[fd00::2]:8000")
    assert backend.status_url == "http://[fd00::2]:9000/status"


def test_services_read_again_what_changed(states: dict[str, BoxState]) -> None:
    reload_on = {unit.name: unit.reload_on for unit in states["spark-a"].units}
    assert reload_on["floor-pool.service"] == ("/etc/floor/pool.json",)
    assert reload_on["floor-agent.service"] == ("/etc/floor/agent.json",)
    nginx = [file.path for file in states["spark-a"].files if file.path.startswith("/etc/floor/nginx/")]
    assert sorted(reload_on["floor-proxy.service"]) == nginx


def test_needrestart_leaves_engines_alone(states: dict[str, BoxState]) -> None:
    text = states["spark-b"].file("/etc/needrestart/conf.d/floor.conf")
    assert text is not None
    assert "$nrconf{override_rc}{qr(^floor-)} = 0;" in text.text.splitlines()
