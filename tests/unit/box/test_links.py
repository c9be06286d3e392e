"""Links as `ip -json` of iproute2 6.1 prints them, and the kernel's files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from floor.box import links
from floor.box.command import Result

ADDRESSES = [
    {"ifname": "lo", "addr_info": [{"family": "inet", "local": "127.0.0.1", "prefixlen": 8, "scope": "host"}]},
    {
        "ifname": "enp1s0f1np1",
        "addr_info": [
            {"family": "inet", "local": "198.51.100.1", "prefixlen": 24, "scope": "global"},
            {"family": "inet6", "local": "fe80::1", "prefixlen": 64, "scope": "link"},
        ],
    },
    {"ifname": "docker0", "addr_info": [{"family": "inet", "local": "172.17.0.1", "prefixlen": 16, "scope": "global"}]},
    {"ifname": "eno1", "addr_info": [{"family": "inet", "local": "192.0.2.1", "prefixlen": 24, "scope": "global"}]},
]


def ip(addresses: str, route: str = '[{"dst":"default","dev":"eno1"}]') -> object:
    def run(argv: Sequence[str]) -> Result:
        return Result(0, addresses if "address" in argv else route, "")

    return run


def test_links_are_told_with_their_rdma_devices(tmp_path: Path) -> None:
    card = tmp_path / "sys/class/infiniband/rocep1s0f1"
    (card / "ports/1").mkdir(parents=True)
    (card / "ports/1/state").write_text("4: ACTIVE\n")
    (card / "device/net/enp1s0f1np1").mkdir(parents=True)
    dead = tmp_path / "sys/class/infiniband/rocep1s0f0"
    (dead / "ports/1").mkdir(parents=True)
    (dead / "ports/1/state").write_text("1: DOWN\n")
    for name, speed in (("enp1s0f1np1", "200000"), ("eno1", "-1")):
        (tmp_path / f"sys/class/net/{name}").mkdir(parents=True)
        (tmp_path / f"sys/class/net/{name}/speed").write_text(f"{speed}\n")
    found = links.read(ip(json.dumps(ADDRESSES)), tmp_path)  # type: ignore[arg-type]
    assert found == [
        {
            "interface": "enp1s0f1np1",
            "addresses": ["198.51.100.1/24"],
            "speed": 200000,
            "default": False,
            "devices": ["rocep1s0f1"],
        },
        {"interface": "eno1", "addresses": ["192.0.2.1/24"], "speed": None, "default": True, "devices": []},
    ]


def test_a_machine_whose_ip_says_nothing_of_use_has_none(tmp_path: Path) -> None:
    for text in ("", "no json", "[]"):
        assert links.read(ip(text, ""), tmp_path) == []  # type: ignore[arg-type]
