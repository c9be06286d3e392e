"""Who is told to be past the proxy, and who is not."""

from __future__ import annotations

from typing import Any

import pytest

from floor.operations.clients import clients
from tests.simulated.situation import Situation

ALLOW = "proxy: {allow: [203.0.113.0/24], boxes"


def go(address: str, unit: str = "", command: str = "job", *, floors: bool = False, count: int = 1) -> dict[str, Any]:
    return {
        "address": address, "port": 8000, "unit": unit, "command": command, "pid": 7, "floors": floors,
        "connections": count,
    }  # fmt: skip


def seen(situation: Situation, a: dict[str, Any] | None = None, b: dict[str, Any] | None = None) -> dict[str, Any]:
    for name, told in (("spark-a", a), ("spark-b", b)):
        empty: dict[str, Any] = {"come": [], "go": [], "direct": [], "turned": {}}
        situation.box(name).connections = {**empty, **(told or {})}
    return clients(situation.site())


def rows(found: dict[str, Any]) -> list[tuple[str, str, str, int]]:
    return [(one["engine"], one["who"], one["kind"], one["connections"]) for one in found["connections"]]


def test_nobody(deployed: Situation) -> None:
    assert seen(deployed) == {
        "asked": ["spark-a", "spark-b"],
        "connections": [],
        "turned_away": [],
        "refused": [{"engine": f"flagship@spark-{one}", "requests": None} for one in "ab"],
        "failed": [],
    }


def test_proxy_checks_and_a_job_on_a_box(deployed: Situation) -> None:
    """They come from the same address: what holds the other end tells them apart."""
    a = {
        "go": [
            go("192.0.2.12", "floor-proxy.service", "nginx: worker process", floors=True, count=3),
            go("192.0.2.12", "floor-proxy.service", "nginx: worker process 2", floors=True, count=2),
            go("192.0.2.12", "floor-pool.service", floors=True),
            go("192.0.2.12", "batch.service", "python3 job.py", count=4),
        ]
    }
    b = {"come": [{"port": 8000, "address": "192.0.2.11", "connections": 10}]}
    assert rows(seen(deployed, a, b)) == [
        ("flagship@spark-b", "spark-a: python3 job.py (pid 7, batch.service)", "past the proxy", 4),
        ("flagship@spark-b", "spark-a: floor-pool.service", "check", 1),
        ("flagship@spark-b", "spark-a: floor-proxy.service", "proxy", 5),
    ]


def test_a_job_beside_its_own_engine(deployed: Situation) -> None:
    b = {
        "go": [go("192.0.2.12", "", "curl x")],
        "come": [
            {"port": 8000, "address": "192.0.2.12", "connections": 1},
            {"port": 8000, "address": "127.0.0.1", "connections": 1},
        ],
    }
    assert rows(seen(deployed, None, b)) == [
        ("flagship@spark-b", "spark-b: curl x (pid 7, no unit)", "past the proxy", 1)
    ]


def test_strangers_and_those_who_are_allowed(deployed: Situation) -> None:
    deployed.edit("proxy: {boxes", ALLOW)
    come = [{"port": 8000, "address": one, "connections": 2} for one in ("203.0.113.9", "198.51.100.9", "2001:db8::9")]
    assert rows(seen(deployed, {"come": come})) == [
        ("flagship@spark-a", "198.51.100.9", "past the proxy", 2),
        ("flagship@spark-a", "2001:db8::9", "past the proxy", 2),
        ("flagship@spark-a", "203.0.113.9", "allowed", 2),
    ]


def test_a_box_that_does_not_answer_is_not_called_a_stranger(deployed: Situation) -> None:
    deployed.box("spark-b").up = False
    come = [{"port": 8000, "address": "192.0.2.12", "connections": 2}]
    found = seen(deployed, {"come": come})
    assert rows(found) == [("flagship@spark-a", "spark-b", "check", 2)]
    assert found["failed"] == ["spark-b: no way there"]


def test_a_job_that_asks_by_ipv6(deployed: Situation) -> None:
    """However the file spells the address: boxes tell the short one."""
    deployed.edit("host: 192.0.2.12", 'host: "FD00:0:0::12"')
    a = {"go": [go("fd00::12", "batch.service", "python3 job.py")]}
    b = {"come": [{"port": 8000, "address": "fd00::12", "connections": 1}]}
    assert rows(seen(deployed, a, b)) == [
        ("flagship@spark-b", "spark-a: python3 job.py (pid 7, batch.service)", "past the proxy", 1)
    ]


@pytest.mark.parametrize(("direct", "done"), [("deny", "kept off"), ("warn", "let through")])
def test_who_was_turned_away(deployed: Situation, direct: str, done: str) -> None:
    deployed.edit("proxy: {boxes", f"proxy: {{direct: {direct}, boxes")
    page = "http://192.0.2.11:8000/metrics"
    told = {"direct": [{"address": "198.51.100.9", "connections": 31}], "turned": {page: 4}}
    found = seen(deployed, told)
    assert found["turned_away"] == [{"box": "spark-a", "address": "198.51.100.9", "connections": 31, "done": done}]
    assert found["refused"][0] == {"engine": "flagship@spark-a", "requests": 4}
