"""Taking floor off a machine: all of it, nothing else, and never under a running operation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from floor.box import removal
from floor.box.command import Result
from floor.box.lease import HeldError
from floor.box.operation import Operation
from floor.errors import FloorError

UNIT = "floor-copy-m.service"
OURS = [
    "etc/floor/mode",
    "etc/floor/secrets/engine.key",
    "etc/needrestart/conf.d/floor.conf",
    "etc/systemd/system/floor-copy-m.service",
    "etc/systemd/system/floor-copy-m.service.d/x.conf",
    "etc/systemd/system/floor.target.wants/floor-copy-m.service",
    "etc/sudoers.d/zz-floor-ops",
    "opt/floor/0.1.0+aaaaaaaaaaaa/bin/python",
    "run/floor/nginx/members.conf",
]
KEPT = ["var/lib/floor/events.jsonl", "var/cache/floor/m/kernel.bin"]
FOREIGN = ["etc/passwd", "etc/systemd/system/nginx.service", "etc/sudoers.d/ops", "models/flagship/weights.bin"]


class Machine:
    """A systemd with one unit, whose processes end when they are told, or only when they are killed, or never."""

    def __init__(self, root: Path, ends: str = "stop") -> None:
        self.root, self.ends, self.active = root, ends, True
        self.ran: list[str] = []
        self.naps = 0.0
        group = root / "sys/fs/cgroup/system.slice" / UNIT
        group.mkdir(parents=True)
        self.procs = group / "cgroup.procs"
        self.procs.write_text("12\n")

    def run(self, argv: Sequence[str]) -> Result:
        words = [word for word in argv if not word.startswith("-") and word != "systemctl"]
        self.ran.append(" ".join(words if argv[0] == "systemctl" else argv))
        match words[0]:
            case "list-units":
                return Result(0, f"{UNIT} loaded active running m\n", "")
            case "show":
                state = "active" if self.active else "inactive"
                return Result(0, f"LoadState=loaded\nActiveState={state}\nControlGroup=/system.slice/{UNIT}\n", "")
            case "stop" | "kill" if words[0] == self.ends:
                self.active = False
                self.procs.write_text("")
            case "docker":
                return Result(None, "", "docker: not installed")
        return Result(0, "", "")

    def sleep(self, seconds: float) -> None:
        self.naps += seconds

    def remove(self, *, purge: bool = False) -> None:
        removal.remove(purge=purge, root=self.root, run=self.run, sleep=self.sleep)


@pytest.fixture
def full(root: Path) -> Path:
    for path in [*OURS, *KEPT, *FOREIGN]:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("")
    return root


def left(root: Path) -> list[str]:
    found = (str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())
    return sorted(
        path for path in found if not path.startswith(("proc", "sys", "var/lib/floor/lock", "var/lib/floor/work"))
    )


def test_everything_of_floors_goes_and_nothing_else(full: Path) -> None:
    Machine(full).remove()
    assert left(full) == sorted([*KEPT, *FOREIGN])


def test_purging_takes_the_state_the_caches_and_the_user_too(full: Path) -> None:
    machine = Machine(full)
    machine.remove(purge=True)
    assert left(full) == sorted(FOREIGN)
    assert machine.ran[-1] == "userdel floor"
    assert not (full / "var/lib/floor").exists()


def test_without_purge_the_user_stays(full: Path) -> None:
    machine = Machine(full)
    machine.remove()
    assert not any("userdel" in line for line in machine.ran)


def test_a_unit_is_disabled_and_stopped_before_its_file_goes(full: Path) -> None:
    machine = Machine(full)
    machine.remove()
    orders = [line for line in machine.ran if line.split()[0] in ("disable", "stop", "daemon-reload", "reset-failed")]
    assert orders == [f"disable {UNIT}", f"stop {UNIT}", "daemon-reload", "reset-failed"]


def test_processes_that_do_not_end_are_ended_after_a_while(full: Path) -> None:
    machine = Machine(full, ends="kill")
    machine.remove()
    assert f"kill {UNIT}" in machine.ran
    assert removal.PATIENCE <= machine.naps <= removal.PATIENCE + 2


def test_processes_that_nothing_ends_are_named_and_the_files_stay(full: Path) -> None:
    machine = Machine(full, ends="never")
    with pytest.raises(
        FloorError, match=r"floor-copy-m.service: processes \[12\] cannot be ended; a driver may hold them"
    ):
        machine.remove()
    assert (full / "etc/systemd/system" / UNIT).exists()


def test_a_container_that_is_left_is_removed(full: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone: list[str] = []
    monkeypatch.setattr(removal.containers, "inspect", lambda names, _run: {names[0]: {"id": "c"}})
    monkeypatch.setattr(removal.containers, "remove", lambda name, _run: gone.append(name))
    Machine(full).remove()
    assert gone == ["floor-copy-m"]


def test_a_box_that_an_operation_holds_is_not_touched(full: Path) -> None:
    Operation(full).take({"epoch": 3, "verb": "deploy", "by": {"user": "ann", "host": "laptop"}})
    with pytest.raises(HeldError, match="held by `deploy` of ann@laptop"):
        Machine(full).remove()
    assert (full / "etc/floor/mode").exists()


@pytest.mark.parametrize(
    ("was", "orders"),
    [
        ("enabled", ["unmask nginx.service", "enable nginx.service"]),
        ("disabled", ["unmask nginx.service"]),
        ("", ["unmask nginx.service"]),
        (None, []),
    ],
)
def test_nginxs_own_service_is_put_back_as_it_was_found(full: Path, was: Any, orders: list[str]) -> None:
    if was is not None:
        (full / "var/lib/floor/setup.json").write_text(json.dumps({"masked": True, "was": was}))
    machine = Machine(full)
    machine.remove()
    assert [line for line in machine.ran if "nginx.service" in line] == orders
    assert not (full / "var/lib/floor/setup.json").exists()


def test_a_user_that_cannot_be_removed_is_told(full: Path) -> None:
    machine = Machine(full)
    real = machine.run

    def run(argv: Sequence[str]) -> Result:
        if argv[0] == "userdel":
            return Result(8, "", "userdel: user floor is currently used by process 99")
        return real(argv)

    with pytest.raises(FloorError, match="the user floor cannot be removed: userdel: user floor is currently used"):
        removal.remove(purge=True, root=full, run=run, sleep=machine.sleep)


def test_what_floor_had_taken_over_comes_back_last_and_a_failure_keeps_its_record(full: Path) -> None:
    machine = Machine(full)
    record = full / "var/lib/floor/taken-over.json"
    was = {"enabled": "enabled", "active": "active", "running": True}
    record.write_text(
        json.dumps({"taken": [{"kind": "unit", "name": "vllm.service", "key": None, "at": 1, "was": was}]})
    )

    def broken(argv: Sequence[str]) -> Result:
        return Result(1, "", "no") if "enable" in argv else machine.run(argv)

    (line,) = removal.remove(purge=True, root=full, run=broken, sleep=lambda _: None)
    assert line.startswith(
        "unit vllm.service could not be brought back: systemctl enable -- vllm.service: no; it stays in"
    )
    assert record.exists()
    (line,) = removal.remove(purge=True, root=full, run=machine.run, sleep=lambda _: None)
    assert line == "unit vllm.service is as it was: enabled and started"
    assert machine.ran.index("enable vllm.service") > machine.ran.index("daemon-reload")
    assert not record.parent.exists()
