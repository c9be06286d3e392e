"""Two boxes with real status ports, gates and services; systemd is a file that says what is so and keeps the orders."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from floor.box import paths
from floor.sim.process import free_port
from tests.integration.pool.stage import KEY, until

MODEL = "flagship"
UNIT = "floor-group-flagship.service"
SYSTEMCTL = """#!{python} -IS
import json, sys
from pathlib import Path
folder = Path({folder!r})
if "--property=SystemState" in sys.argv:
    sys.exit(print("running"))
if "show" not in sys.argv:
    with (folder / "orders").open("a") as file:
        sys.exit(print(*sys.argv[1:], file=file))
unit = json.loads((folder / "unit.json").read_text())
for name in sys.argv[sys.argv.index("--") + 1:]:
    print("\\n".join(f"{{key}}={{value}}" for key, value in (unit | {{"Id": name}}).items()), end="\\n\\n")
"""


class Box:
    """One box of a group: what systemd says of its part, its status port, and who watches over it."""

    def __init__(self, folder: Path, name: str, part: str) -> None:
        self.name, self.part, self.root, self.port = name, part, folder / name, free_port()
        for place in ("etc/floor/secrets", "var/lib/floor", "bin"):
            (self.root / place).mkdir(parents=True)
        (self.root / "etc/floor/secrets/status.key").write_text(f"{KEY}\n")
        script = self.root / "bin/systemctl"
        script.write_text(SYSTEMCTL.format(python=sys.executable, folder=str(self.root)))
        script.chmod(0o755)
        (self.root / "etc/floor/mode").write_text("split\n")
        self.processes: list[subprocess.Popen[str]] = []
        self.unit("inactive", "dead", "")

    def meet(self, other: Box) -> None:
        """Write the settings of both services."""
        key = str(paths.STATUS_KEY)
        place = {"listen": "127.0.0.1", "port": self.port, "key_file": key, "units": [UNIT]}
        part = {"model": MODEL, "part": self.part, "unit": UNIT}
        others = [{"box": other.name, "status_url": f"http://127.0.0.1:{other.port}/status"}]
        agent = place | {"fabric": "127.0.0.2", "groups": [part]}
        (self.root / "etc/floor/agent.json").write_text(json.dumps(agent))
        group = {"status_key_file": key, "groups": [part | {"others": others}]}
        (self.root / "etc/floor/group.json").write_text(json.dumps(group))

    def unit(self, active: str, sub: str, start: str) -> None:
        """What systemd says from now on."""
        new = self.root / "unit.new"
        new.write_text(json.dumps({"ActiveState": active, "SubState": sub, "InvocationID": start}))
        new.rename(self.root / "unit.json")

    def run(self, module: str, *words: str, **env: str) -> subprocess.Popen[str]:
        """Start one of floor's programs on this box."""
        argv = [sys.executable, "-I", "-m", module, *words, "--root", str(self.root)]
        environ = {**os.environ, "PATH": f"{self.root}/bin:{os.environ['PATH']}", **env}
        process = subprocess.Popen(argv, env=environ, stderr=subprocess.PIPE, text=True)
        self.processes.append(process)
        return process

    def gate(self, start: str, **env: str) -> subprocess.Popen[str]:
        """systemd starts the part."""
        self.unit("activating", "start-pre", start)
        return self.run("floor.agent.gate", MODEL, INVOCATION_ID=start, **env)

    def goes(self, start: str) -> None:
        """Its rank has been running for long."""
        self.unit("active", "running", start)
        (self.root / "run/floor/parts/flagship.json").write_text(json.dumps(self.mark | {"at": 0.0}))

    @property
    def mark(self) -> dict[str, Any]:
        place = self.root / "run/floor/parts/flagship.json"
        return dict(json.loads(place.read_text())) if place.exists() else {}

    @property
    def orders(self) -> list[str]:
        place = self.root / "orders"
        return place.read_text().splitlines() if place.exists() else []

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.communicate()


@pytest.fixture
def boxes(tmp_path: Path) -> Iterator[tuple[Box, Box]]:
    """The head's and the worker's box, with their status ports up."""
    a, b = Box(tmp_path, "a", "head"), Box(tmp_path, "b", "worker")
    a.meet(b)
    b.meet(a)
    for box in (a, b):
        box.run("floor.agent.status")
    until(lambda: all(answers("127.0.0.1", box.port) for box in (a, b)))
    yield a, b
    for box in (a, b):
        box.close()


def answers(address: str, port: int) -> bool:
    with socket.socket() as way:
        return way.connect_ex((address, port)) == 0


def test_both_go_under_the_start_of_the_head(boxes: tuple[Box, Box], tmp_path: Path) -> None:
    a, b = boxes
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        systemd.settimeout(10)
        head = a.gate("h1", NOTIFY_SOCKET=str(tmp_path / "notify"))
        until(lambda: (a.mark.get("start"), a.mark.get("going"), a.mark.get("generation")) == ("h1", False, "h1"))
        assert systemd.recv(100) == b"EXTEND_TIMEOUT_USEC=60000000"
        assert head.poll() is None
        worker = b.gate("w1")
        assert (head.wait(10), worker.wait(10)) == (0, 0)
    assert (a.mark["going"], a.mark["generation"]) == (True, "h1")
    assert (b.mark["start"], b.mark["going"], b.mark["generation"]) == ("w1", True, "h1")
    assert head.stderr is not None
    told = head.stderr.read()
    assert "floor-gate: flagship: head: b: its part is down" in told
    assert "floor-gate: flagship: head: all of it starts now" in told


def test_a_worker_that_comes_back_alone_waits_and_the_head_is_ended(boxes: tuple[Box, Box]) -> None:
    a, b = boxes
    gates = a.gate("h1"), b.gate("w1")
    assert [gate.wait(10) for gate in gates] == [0, 0]
    a.goes("h1")
    b.goes("w1")
    service = a.run("floor.group")
    again = b.gate("w2")
    until(lambda: len(a.orders) == 2)
    assert a.orders == [
        f"--quiet --no-ask-password reset-failed -- {UNIT}",
        f"--quiet --no-ask-password kill --signal=SIGKILL -- {UNIT}",
    ]
    assert again.poll() is None
    assert a.mark["spared"]
    events = a.root / "var/lib/floor/events.jsonl"
    until(events.exists)
    why = "is ended, to begin anew with the rest of its group: b: its worker is back at its gate"
    until(lambda: why in events.read_text())
    head = a.gate("h2")
    assert (head.wait(10), again.wait(10)) == (0, 0)
    assert (a.mark["generation"], b.mark["generation"]) == ("h2", "h2")
    service.terminate()
    assert service.wait(10) == 0


def test_nobody_is_ended_while_all_is_well_or_a_status_port_restarts(boxes: tuple[Box, Box]) -> None:
    a, b = boxes
    gates = a.gate("h1"), b.gate("w1")
    assert [gate.wait(10) for gate in gates] == [0, 0]
    a.goes("h1")
    b.goes("w1")
    services = [box.run("floor.group") for box in boxes]
    b.processes[0].kill()
    b.processes[0].wait()
    until(lambda: not answers("127.0.0.1", b.port))
    with pytest.raises(subprocess.TimeoutExpired):
        services[0].wait(2.5)
    b.run("floor.agent.status")
    with pytest.raises(subprocess.TimeoutExpired):
        services[1].wait(1.5)
    assert (a.orders, b.orders) == ([], [])


def test_the_status_port_answers_on_the_fabric_too(boxes: tuple[Box, Box]) -> None:
    assert answers("127.0.0.2", boxes[0].port)


def test_a_part_that_waits_lets_go_when_the_mode_becomes_another(boxes: tuple[Box, Box]) -> None:
    a = boxes[0]
    gate = a.gate("h1")
    until(lambda: a.mark)
    (a.root / "etc/floor/mode").write_text("replicas\n")
    assert gate.wait(10) == 1
    assert gate.stderr is not None
    assert "etc/floor/mode: found 'replicas'; parts of a group run in mode split only" in gate.stderr.read()


def test_only_systemd_starts_parts(boxes: tuple[Box, Box]) -> None:
    gate = boxes[0].run("floor.agent.gate", MODEL, INVOCATION_ID="")
    assert gate.wait(10) == 1
    assert gate.stderr is not None
    assert gate.stderr.read() == f"floor-gate: only systemd starts parts of a group; write systemctl start {UNIT}\n"


def test_a_model_without_a_part_here_is_named(boxes: tuple[Box, Box]) -> None:
    gate = boxes[0].run("floor.agent.gate", "small", INVOCATION_ID="s1")
    assert gate.wait(10) == 1
    assert gate.stderr is not None
    assert gate.stderr.read().endswith("group.json: tells of no group of small; run `floor deploy`, which writes it\n")
