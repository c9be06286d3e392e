"""An agent's call in a temporary box, with a systemd that is a dictionary and time that passes when it is slept."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from floor.agent.call import Call
from floor.agent.params import Params
from floor.agent.registry import find
from floor.box.command import Result
from floor.box.operation import Operation

EPOCH = 3


@dataclass
class Unit:
    """A unit as systemd shows it; `pids` are the processes in its group."""

    active: str = "inactive"
    invocation: str = "a"
    restarts: int = 0
    result: str = "success"
    load: str = "loaded"
    pids: list[int] = field(default_factory=list)


@dataclass
class Box:
    """`on` holds what an order does to the box, `after` what happens when time has passed that many seconds, `said`
    what systemd answers to an order that fails."""

    root: Path
    units: dict[str, Unit] = field(default_factory=dict)
    on: dict[str, Callable[[Unit], None]] = field(default_factory=dict)
    after: dict[float, Callable[[], None]] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)
    containers: set[str] = field(default_factory=set)
    ran: list[str] = field(default_factory=list)
    time: float = 1000.0
    log: str = ""

    def run(self, argv: Sequence[str]) -> Result:
        words = [word for word in argv if not word.startswith("-")]
        if argv[0] == "docker":
            return self._docker(list(argv))
        if argv[0] in ("journalctl", "sh"):
            return Result(0, self.log, "")
        if argv[0] == "nvidia-smi":
            return Result(None, "", "nvidia-smi: not found")
        verb, names = words[1], words[2:]
        if verb == "show":
            return Result(0, "\n".join(self._shown(name) for name in names), "")
        self.ran.append(" ".join(argv[3:]))
        if verb in self.said:
            return Result(1, "", self.said[verb])
        for name in names:
            if verb in self.on:
                self.on[verb](self.units[name])
                self._groups()
        return Result(0, "", "")

    def _shown(self, name: str) -> str:
        unit = self.units.get(name, Unit(load="not-found"))
        self._groups()
        return (
            f"Id={name}\nLoadState={unit.load}\nActiveState={unit.active}\nInvocationID={unit.invocation}\n"
            f"NRestarts={unit.restarts}\nResult={unit.result}\nControlGroup=/system.slice/{name}\n"
        )

    def _groups(self) -> None:
        for name, unit in self.units.items():
            group = self.root / "sys/fs/cgroup/system.slice" / name
            group.mkdir(parents=True, exist_ok=True)
            (group / "cgroup.procs").write_text("".join(f"{pid}\n" for pid in unit.pids))

    def _docker(self, argv: list[str]) -> Result:
        name = argv[-1]
        if "rm" in argv:
            self.containers.discard(name)
            self.ran.append(" ".join(argv))
            return Result(0, "", "")
        if name not in self.containers:
            return Result(1, "[]", f"Error: No such container: {name}")
        one = {
            "Id": "c",
            "Name": f"/{name}",
            "Image": "i",
            "Config": {"Image": "r"},
            "State": {"Running": True, "Pid": 1},
        }
        return Result(0, json.dumps([one]), "")

    def sleep(self, seconds: float) -> None:
        self.time += seconds
        for at in [at for at in self.after if self.time >= 1000 + at]:
            self.after.pop(at)()
            self._groups()

    def call(self, name: str, /, sent: bytes = b"", **params: Any) -> Any:
        """Make one call as the agent would."""
        call = Call(
            Params(name, params),
            self.root,
            io.BytesIO(sent),
            io.BytesIO(),
            self.run,
            lambda: self.time,
            lambda: self.time,
            self.sleep,
        )
        call.note()
        return find(name)(call)


@pytest.fixture
def box(tmp_path: Path) -> Box:
    """A box that epoch 3 holds."""
    Operation(tmp_path).take({"epoch": EPOCH, "verb": "deploy", "by": {"user": "ann", "host": "laptop"}})
    return Box(tmp_path)


@pytest.fixture
def free(tmp_path: Path) -> Box:
    """A box that nobody holds."""
    return Box(tmp_path)
