"""What guard and watchdog read of a box: pressure, groups, cards, holds, and engines that belong to nobody."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from floor.box import alarms, files, gpu, groups, holds, paths, pressure, strangers, systemctl, units
from floor.errors import FloorError

PSI = """some avg10=1.50 avg60=0.40 avg300=0.09 total=4321
full avg10=12.25 avg60=0.10 avg300=0.00 total=1234
"""


def test_pressure(tmp_path: Path) -> None:
    assert pressure.parse(PSI) == 12.25
    assert pressure.parse("some avg10=1.50\n") is None
    assert pressure.read(tmp_path) is None


def group(root: Path, name: str, pids: str = "", stat: str = "") -> Path:
    place = root / "sys/fs/cgroup" / name
    place.mkdir(parents=True)
    (place / "cgroup.procs").write_text(pids)
    (place / "memory.stat").write_text(stat)
    return place


def test_what_a_group_holds_is_without_page_cache(tmp_path: Path) -> None:
    group(tmp_path, "system.slice/a.service", stat="anon 700\nfile 90000\nshmem 50\ninactive_file 80000\n")
    assert groups.memory("/system.slice/a.service", tmp_path) == 750
    assert groups.memory("/system.slice/b.service", tmp_path) is None


def test_a_group_is_ended_with_one_write(tmp_path: Path) -> None:
    place = group(tmp_path, "system.slice/a.service", "71\n72\n")
    assert groups.end("/system.slice/a.service", tmp_path)
    assert (place / "cgroup.kill").read_text() == "1"


def test_the_group_of_a_process(tmp_path: Path) -> None:
    place = tmp_path / "proc/71"
    place.mkdir(parents=True)
    (place / "cgroup").write_text("0::/system.slice/docker-abc.scope\n")
    assert groups.of_process(71, tmp_path) == "/system.slice/docker-abc.scope"
    assert groups.of_process(72, tmp_path) == ""


class Driver(Exception):  # noqa: N818 -- it is the library and its error at once
    """Stands for the driver's library. `total` None: it does not support the question, as on GB10."""

    NVMLError: Any

    def __init__(self, total: int | None, used: dict[int, int | None]) -> None:
        super().__init__("Not Supported")
        self.NVMLError = Driver
        self.total, self.used = total, used

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return 1

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802
        return index

    def nvmlDeviceGetMemoryInfo(self, _card: int) -> Any:  # noqa: N802
        if self.total is None:
            raise self
        return SimpleNamespace(total=self.total)

    def nvmlDeviceGetComputeRunningProcesses(self, _card: int) -> Any:  # noqa: N802
        return [SimpleNamespace(pid=pid, usedGpuMemory=size) for pid, size in self.used.items()]


@pytest.mark.parametrize(
    ("driver", "found"),
    [
        (None, gpu.Cards({}, None)),
        (Driver(None, {71: 700}), gpu.Cards({71: 700}, True)),
        (Driver(24 << 30, {71: 700, 72: None}), gpu.Cards({71: 700}, False)),  # [N/A] of a process is left out
    ],
    ids=["no driver", "GB10", "a card of its own"],
)
def test_cards(driver: Any, found: gpu.Cards) -> None:
    assert gpu.read(driver) == found


def test_holds_are_kept_by_unit(tmp_path: Path) -> None:
    assert holds.read(tmp_path) == {}
    one = holds.Hold("a.service", "why", "abc", 1.0, needs=7)
    holds.put(one, tmp_path)
    holds.put(holds.Hold("b.service", "why", "def", 1.0), tmp_path)
    assert holds.read(tmp_path)["a.service"] == one
    assert holds.against("a.service", "", tmp_path) == one
    assert holds.against("a.service", "other", tmp_path) is None
    assert (holds.drop("a.service", tmp_path), holds.drop("a.service", tmp_path)) == (True, False)
    assert set(holds.read(tmp_path)) == {"b.service"}


def test_a_disk_that_is_full_starts_nothing_that_was_taken_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, full = files.write, {paths.HOLDS}

    def writes(path: Path, *args: Any, **kept: Any) -> None:
        if path in full:
            raise FloorError(f"{path}: No space left on device")
        write(path, *args, **kept)

    monkeypatch.setattr(files, "write", writes)
    one = holds.Hold("a.service", "why", "abc", 1.0)
    with pytest.raises(FloorError, match=r"^a\.service is kept down until the next boot alone: .*No space left"):
        holds.put(one, tmp_path)
    assert (holds.read(tmp_path), holds.against("a.service", "abc", tmp_path)) == ({"a.service": one}, one)
    full.add(paths.HOLDS_NEW)
    with pytest.raises(FloorError, match=r"^b\.service may start again: "):
        holds.put(holds.Hold("b.service", "why", "abc", 1.0), tmp_path)
    full.clear()
    assert holds.drop("a.service", tmp_path)
    assert holds.read(tmp_path) == {}


def test_a_hold_is_put_though_the_file_was_broken(tmp_path: Path) -> None:
    (tmp_path / "var/lib/floor").mkdir(parents=True)
    (tmp_path / "var/lib/floor/holds.json").write_text("[]")
    with pytest.raises(FloorError, match=r"holds\.json: is no list of holds .*; look at it, then remove it"):
        holds.read(tmp_path)
    holds.put(holds.Hold("a.service", "why", "abc", 1.0), tmp_path)
    assert set(holds.read(tmp_path)) == {"a.service"}


def process(proc: Path, pid: int, command: str, parent: int, cgroup: str) -> None:
    place = proc / str(pid)
    place.mkdir(parents=True)
    (place / "cmdline").write_bytes(command.replace(" ", "\0").encode() + b"\0")
    (place / "stat").write_text(f"{pid} (x) S {parent} 0 0 0")
    (place / "cgroup").write_text(f"0::{cgroup}\n")


def test_engines_that_belong_to_nobody(tmp_path: Path) -> None:
    process(tmp_path, 11, "VLLM::EngineCore", 1, "/user.slice/user-0.slice/session-3.scope")
    process(tmp_path, 12, "/opt/vllm/bin/vllm serve /models/m", 1, "/system.slice/floor-copy-m.service")
    process(tmp_path, 13, "/usr/bin/llama-server -m x", 900, "/user.slice/user-0.slice/session-3.scope")
    process(tmp_path, 14, "vim vllm-notes", 1, "/user.slice")
    process(tmp_path, 15, "/opt/vllm/bin/vllm serve /models/m", 1, "/system.slice/docker-abc.scope")
    assert strangers.engines(tmp_path) == ("pid 11 (VLLM::EngineCore)",)


def test_one_call_tells_of_every_unit_that_is_loaded() -> None:
    asked: list[Any] = []

    def show(argv: Any, _timeout: float) -> str:
        asked.append(argv)
        return "Id=a.service\nActiveState=failed\n\nId=z.target\nActiveState=active\n"

    found = units.show_loaded(["a.service"], show)
    assert [words[-3:] for words in asked] == [["a.service", "*.service", "*.target"]]
    assert {name: one.active for name, one in found.items()} == {"a.service": "failed", "z.target": "active"}


def test_lines_of_one_start(programs: Any) -> None:
    programs.on("journalctl", "_SYSTEMD_INVOCATION_ID=abc", out="one\n\nfloor-warm: waits\nflagship@a: warm\ntwo\n")
    assert systemctl.last_lines("floor-copy-flagship.service", 9, "abc", programs) == ["one", "two"]


def decided(at: float, reason: str, *, alarm: bool) -> dict[str, Any]:
    return {"at": at, "foreign": [], "decisions": {"m@a": {"reason": reason, "evidence": "why", "alarm": alarm}}}


@pytest.mark.parametrize(
    ("state", "told"),
    [
        (decided(1000.0, "declined", alarm=True), ["m@a: declined: why"]),
        (decided(1000.0, "ok", alarm=False), []),
        (decided(1000.0, "held", alarm=True), []),  # the hold itself tells it
        (decided(100.0, "declined", alarm=True), []),
        ([], []),
    ],
)
def test_alarms_of_the_watchdog(tmp_path: Path, state: Any, told: list[str]) -> None:
    place = tmp_path / "run/floor/watchdog/state.json"
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps(state))
    assert alarms.read(tmp_path, 1020.0) == told


def test_a_hold_is_an_alarm(tmp_path: Path) -> None:
    assert alarms.read(tmp_path, 1.0) == []
    holds.put(holds.Hold("a.service", "2.5 GiB were left", "abc", 1.0), tmp_path)
    ends = "there is room for it again, `floor guard release` or another launch"
    words = f"a.service: the guard keeps it down, until {ends}: 2.5 GiB were left"
    assert alarms.read(tmp_path, 1.0) == [words]


def test_a_hold_is_told_with_what_its_unit_would_start(tmp_path: Path) -> None:
    hold = holds.Hold("a.service", "2.5 GiB were left", "abc", 1.0, 7)
    holds.put(hold, tmp_path)
    assert holds.told(tmp_path) == {"a.service": {**asdict(hold), "installed": ""}}
    unit = tmp_path / "etc/systemd/system/a.service"
    unit.parent.mkdir(parents=True)
    unit.write_text("[Service]\nEnvironment=FLOOR_LAUNCH=00ff\n")
    assert holds.told(tmp_path)["a.service"]["installed"] == "00ff"
    assert [hold.forbids(launch) for launch in ("abc", "", "00ff")] == [True, True, False]
    (tmp_path / "var/lib/floor/holds.json").write_text("[")
    assert holds.told(tmp_path) == {}
