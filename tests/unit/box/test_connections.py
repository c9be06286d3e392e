"""Connections and who holds them, as /proc tells."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from floor.box import direct, paths
from floor.box.connections import Connection, Program, elsewhere, established, named, parse, programs

LINE = "   3: 0B4D000A:1F40 0C4D000A:D2F0 01 00000000:00000000 02:000A 00000000     0        0 51234 2 0 0 20 4 0 10 -1"
MAPPED = (
    "   0: 0000000000000000FFFF00000B4D000A:1F40 0000000000000000FFFF0000074D000A:0050 01 00000000:00000000 00:00000000"
    " 00000000     0        0 7 1 0 20 0 0 10 -1"
)
SIX = (
    "   1: 000000FD000000000000000001000000:1F40 000000FD000000000000000007000000:0051 01 00000000:00000000 00:00000000"
    " 00000000     0        0 8 1 0 20 0 0 10 -1"
)


def test_a_line() -> None:
    assert parse(LINE) == Connection(("10.0.77.11", 8000), ("10.0.77.12", 54000), 51234)
    assert parse(MAPPED) == Connection(("10.0.77.11", 8000), ("10.0.77.7", 80), 7)
    assert parse(SIX) == Connection(("fd00::1", 8000), ("fd00::7", 81), 8)


@pytest.mark.parametrize("line", ["", "  sl  local_address", LINE.replace(" 01 ", " 0A ")])
def test_what_is_not_up_or_no_line(line: str) -> None:
    assert parse(line) is None


def test_both_families_and_a_kernel_with_one(tmp_path: Path) -> None:
    (tmp_path / "net").mkdir()
    assert established(tmp_path) == []
    (tmp_path / "net" / "tcp").write_text(f"head\n{LINE}\n")
    assert [one.inode for one in established(tmp_path)] == [51234]
    (tmp_path / "net" / "tcp6").write_text(f"head\n{MAPPED}\n{SIX}\n")
    assert [one.inode for one in established(tmp_path)] == [51234, 7, 8]


def test_other_networks_of_a_box(tmp_path: Path) -> None:
    """Those of containers, each once; our own, and that of a process which is gone, are none."""
    for pid, network, line in (("self", 1, ""), ("1", 1, LINE), ("7", 2, SIX), ("8", 2, SIX), ("9", 3, "")):
        (tmp_path / pid / "ns").mkdir(parents=True)
        (tmp_path / pid / "ns" / "net").symlink_to(f"net:[{network}]")
        (tmp_path / pid / "net").mkdir()
        (tmp_path / pid / "net" / "tcp6").write_text(f"head\n{line}\n")
    (tmp_path / "10").mkdir()
    assert [one.inode for one in elsewhere(tmp_path)] == [8]


def process(proc: Path, pid: int, group: str, command: str, *sockets: int) -> None:
    folder = proc / str(pid)
    (folder / "fd").mkdir(parents=True)
    (folder / "cgroup").write_text(f"0::{group}\n")
    (folder / "cmdline").write_bytes(command.replace(" ", "\0").encode() + b"\0")
    for number, inode in enumerate(sockets):
        (folder / "fd" / str(number)).symlink_to(f"socket:[{inode}]")
    (folder / "fd" / "99").symlink_to("/dev/null")


def test_who_holds_a_socket(tmp_path: Path) -> None:
    process(tmp_path, 5, "/system.slice/batch.service", "python3 job.py --all", 70, 71)
    process(tmp_path, 6, "/user.slice/user-0.slice/session-3.scope", "curl http://x", 72)
    process(tmp_path, 7, "/", "init", 73)
    (tmp_path / "8").mkdir()  # gone by now
    (tmp_path / "net").mkdir()
    assert programs({71, 72, 73, 99}, tmp_path) == {
        71: Program(5, "batch.service", "python3 job.py"),
        72: Program(6, "session-3.scope", "curl"),
        73: Program(7, "", "init"),
    }
    assert programs(set(), tmp_path) == {}


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["/usr/bin/curl", "-H", "Authorization: Bearer secret", "http://x"], "curl"),
        (["python3", "-u", "/srv/job.py", "--key", "secret"], "python3 job.py"),
        (["/bin/sh", "-c", "curl secret"], "sh"),
        (["nginx: worker process"], "nginx"),
        ([], ""),
    ],
)
def test_a_name_holds_no_key(words: list[str], name: str) -> None:
    assert named(words) == name


def test_which_are_floors_own(tmp_path: Path) -> None:
    process(tmp_path, 5, "/system.slice/floor-pool.service", "python x", 1)
    process(tmp_path, 6, "/session-1.scope", "/opt/floor/current/bin/python -I -m floor.agent", 2)
    process(tmp_path, 7, "/system.slice/batch.service", "python3 job.py", 3)
    (tmp_path / "net").mkdir()
    assert {inode: one.floors for inode, one in programs({1, 2, 3}, tmp_path).items()} == {1: True, 2: True, 3: False}


def test_a_program_of_the_box_that_asks_its_engine(tmp_path: Path) -> None:
    """Of both ends on one box the client's counts; floor's own, strangers and other ports do not."""

    def line(own: str, peer: str, inode: int) -> str:
        return f"  0: {own} {peer} 01 00000000:00000000 02:000A 00000000  0  0 {inode} 2 0 0 20 4 0 10 -1"

    here, loop, there = "0B4D000A", "0100007F", "0C4D000A"
    rows = [
        line(f"{here}:D000", f"{here}:1F40", 1),  # the batch job
        line(f"{here}:1F40", f"{here}:D000", 2),  # the engine's end of it
        line(f"{loop}:D001", f"{loop}:1F40", 3),  # curl
        line(f"{here}:D002", f"{here}:1F40", 4),  # floor-pool
        line(f"{here}:D003", f"{there}:1F40", 5),  # another box's engine
        line(f"{here}:D004", f"{here}:1F90", 6),  # the proxy
    ]
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "tcp").write_text("\n".join(["head", *rows]))
    process(tmp_path, 5, "/system.slice/batch.service", "python3 job.py", 1, 5)
    process(tmp_path, 6, "/user.slice/session-3.scope", "/usr/bin/curl http://x", 3)
    process(tmp_path, 7, "/system.slice/floor-pool.service", "python", 4)
    process(tmp_path, 8, "/system.slice/floor-copy-m.service", "vllm", 2)
    assert direct.here({8000}, proc=tmp_path) == [
        {"address": "this box: batch.service", "connections": 1},
        {"address": "this box: curl", "connections": 1},
    ]
    assert direct.here({9000}, proc=tmp_path) == []
    # What the firewall lets the proxy of this box do it lets any program of it do.
    assert direct.here({9000}, {("10.0.77.12", 8000)}, tmp_path) == [
        {"address": "this box: batch.service -> 10.0.77.12:8000", "connections": 1}
    ]
    # In a container of this box, whose network is another one.
    (tmp_path / "self" / "ns").mkdir(parents=True)
    (tmp_path / "self" / "ns" / "net").symlink_to("net:[1]")
    process(tmp_path, 9, "/system.slice/docker-ab.scope", "python3 agent.py", 6)
    (tmp_path / "9" / "ns").mkdir()
    (tmp_path / "9" / "ns" / "net").symlink_to("net:[2]")
    (tmp_path / "9" / "net").mkdir()
    (tmp_path / "9" / "net" / "tcp").write_text(f"head\n{line('020011AC:D000', f'{there}:1F40', 6)}\n")
    found = direct.here({9000}, {("10.0.77.12", 8000)}, tmp_path)
    assert [one["address"] for one in found] == [
        "this box: batch.service -> 10.0.77.12:8000",
        "this box: python3 agent.py -> 10.0.77.12:8000",
    ]


def test_engines_of_other_boxes_are_those_that_the_pool_knows(tmp_path: Path) -> None:
    def backend(name: str, address: str | None, unit: str | None) -> dict[str, Any]:
        return {"name": name, "address": address, "port": 8000, "unit": unit}

    backends = [
        backend("m@a", "192.0.2.1", "floor-copy-m.service"),
        backend("m@b", "192.0.2.2", "floor-copy-m.service"),
        backend("m@c", None, "floor-copy-m.service"),  # its name does not resolve
        backend("m@mac", "192.0.2.9", None),  # not floor's: others may well ask it
    ]
    place = paths.under(tmp_path, paths.POOL_SETTINGS)
    assert direct.engines({"m@a"}, tmp_path) == set()
    place.parent.mkdir(parents=True)
    place.write_text("[]")
    assert direct.engines({"m@a"}, tmp_path) == set()
    place.write_text(json.dumps({"pools": [{"backends": backends}]}))
    assert direct.engines({"m@a"}, tmp_path) == {("192.0.2.2", 8000)}
    assert direct.words("this box: job -> 192.0.2.2:8000") == "an engine"
    assert direct.words("this box: job") == "an engine of this box"
