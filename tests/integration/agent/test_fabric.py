"""Boxes that meet on their fabric: real sockets on addresses of the loopback, a thread for each box."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from floor.agent.call import Call
from floor.agent.params import Params
from floor.agent.registry import find
from floor.box import build, fabric
from floor.box.command import run

BOXES = ("127.0.0.81", "127.0.0.82", "127.0.0.83")


def free_ports() -> list[int]:
    """Two ports that nobody has now."""
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        return [one.getsockname()[1], other.getsockname()[1]]


def together(boxes: Mapping[str, Callable[[], dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """Let several boxes meet at once, and return what each tells."""
    told: dict[str, dict[str, Any]] = {}
    threads = [threading.Thread(target=lambda box=box: told.update({box: boxes[box]()})) for box in boxes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return told


def meeting(box: str, ports: list[int], seconds: float) -> Callable[[], dict[str, Any]]:
    """The call of one box, as its agent runs it."""
    asked = {"address": box, "ports": ports, "peers": [one for one in BOXES if one != box], "seconds": seconds}
    return lambda: dict(find("fabric.meet")(Call(Params("fabric.meet", asked))))


def test_all_reach_all_and_it_ends_as_soon_as_they_have() -> None:
    ports = free_ports()
    told = together({box: meeting(box, ports, 60) for box in BOXES})
    for box in BOXES:
        others = [one for one in BOXES if one != box]
        assert told[box] == {
            "reached": {other: {str(port): "" for port in ports} for other in others},
            "heard": others,
            "held": {},
        }


def test_one_that_does_not_come_and_a_port_that_somebody_has_are_told() -> None:
    ports = free_ports()
    with socket.create_server((BOXES[1], ports[0])):
        told = together({box: meeting(box, ports, 2) for box in BOXES[:2]})
    first, second = told[BOXES[0]], told[BOXES[1]]
    assert first["reached"][BOXES[2]] == {str(port): "connection refused" for port in ports}
    assert first["reached"][BOXES[1]][str(ports[0])] != ""
    assert first["reached"][BOXES[1]][str(ports[1])] == ""
    assert second["held"] == {str(ports[0]): "Address already in use"}
    assert first["heard"] == [BOXES[1]]


def test_this_machine_tells_of_its_links_and_builds(tmp_path: Path) -> None:
    assert fabric.link("lo")["addresses"][0] == "127.0.0.1/8"
    assert fabric.link("nosuch0") == {
        "there": False,
        "up": None,
        "mtu": None,
        "addresses": [],
        "others": fabric.link("nosuch0")["others"],
    }
    for script in (f"#!{sys.executable}\n", f"#!/bin/sh\n'''exec' \"{sys.executable}\" \"$0\" \"$@\"\n' '''\n"):
        program = tmp_path / "vllm"
        program.write_text(script)
        assert build.version([str(program)], "pydantic", run)
        assert build.version([str(program)], "no-such-distribution", run) is None
    assert build.version(["/bin/sh"], "pydantic", run) is None
    assert build.version(["/nowhere/vllm"], "pydantic", run) is None
