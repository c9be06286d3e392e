"""The guard on a box that is a folder: what it takes down, keeps down, lets go, says and reports."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from floor.box import events, gpu, holds
from floor.box.command import Result
from floor.errors import FloorError
from floor.guard import promises
from floor.guard.lift import CALM
from floor.guard.sampler import Sampler
from floor.guard.service import Service
from floor.guard.settings import GIB, Copy, Settings

UNIT = "floor-copy-flagship.service"
SHOWN = """Id={unit}
LoadState=loaded
ActiveState={active}
SubState={sub}
MainPID=0
ExecMainStartTimestampMonotonic={started}
InvocationID={invocation}
ControlGroup=/system.slice/{unit}
"""
CONTAINER = {
    "Name": "/floor-copy-flagship",
    "Id": "c",
    "Image": "i",
    "Config": {"Image": "vllm"},
    "State": {"Running": True, "Pid": 91},
}
MEMINFO = "MemTotal:       {total} kB\nMemAvailable:   {available} kB\n"


def at_once(work: Callable[[], None]) -> None:
    """Ask without a thread."""
    work()


@dataclass
class Box:
    """A box below `root` with `available` GiB of 121.7, one engine, and what its log says."""

    root: Path
    mode: str = "protect"
    active: str = "active"
    sub: str = "running"
    invocation: str = "run-1"
    available: float = 40.0
    held: float = 70.0
    shared: bool | None = True
    log: list[str] = field(default_factory=list)
    at: float = 1000.0
    started: float = 500.0
    hangs: str = ""
    docker: bool = False
    ended: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        copy = Copy("flagship@spark-a", UNIT, self.docker, True, 0.78, None)
        settings = Settings(self.mode, None, 8 * GIB, (copy,))
        sampler = Sampler(settings, self.root, lambda: self.at, self._show, self._program, None, at_once)
        self.service = Service(
            settings, sampler, self.root, self.said.append, lambda: self.at, lambda: self.at, self._end
        )
        (self.root / "proc/pressure").mkdir(parents=True)
        self.start()

    def start(self) -> None:
        group = self.root / "sys/fs/cgroup/system.slice" / UNIT
        group.mkdir(parents=True, exist_ok=True)
        (group / "cgroup.procs").write_text("71\n")
        self.write()

    def write(self) -> None:
        total, available = int(121.7 * GIB) >> 10, int(self.available * GIB) >> 10
        (self.root / "proc/meminfo").write_text(MEMINFO.format(total=total, available=available))
        (self.root / "proc/pressure/memory").write_text("full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n")
        group = self.root / "sys/fs/cgroup/system.slice" / UNIT
        (group / "memory.stat").write_text(f"anon {int(1.5 * GIB)}\nfile 900\n")

    def step(self, available: float, seconds: float = 0.5, *, times: int = 1) -> None:
        for _ in range(times):
            self.at += seconds
            self.available = available
            self.write()
            self.service.step()

    def report(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.root / "run/floor/guard/state.json").read_text())
        return found

    def events(self) -> list[str]:
        return [event["text"] for event in events.read(50, self.root)]

    def _show(self, _argv: Sequence[str], _timeout: float) -> str:
        return SHOWN.format(
            unit=UNIT, active=self.active, sub=self.sub, started=int(self.started * 1e6), invocation=self.invocation
        )

    def _program(self, argv: Sequence[str], **_kept: Any) -> Result:
        if argv[0] == self.hangs:
            raise FloorError(f"`{argv[0]}` gave no answer within 3 s")
        if argv[0] == "docker" and self.docker:
            return Result(0, json.dumps([CONTAINER]), "")
        return Result(0, "\n".join(self.log), "") if argv[0] == "journalctl" else Result(None, "", "")

    def _end(self, group: str, root: Path) -> bool:
        self.ended.append(group)
        (root / "sys/fs/cgroup" / group.lstrip("/") / "cgroup.procs").write_text("")
        return True


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Box:
    made = Box(tmp_path)
    used = {71: int(made.held * GIB)}
    monkeypatch.setattr(gpu, "read", lambda _nvml: gpu.Cards(used, made.shared))
    return made


def test_a_box_that_is_well(box: Box) -> None:
    box.step(40, 1.0, times=60)
    assert (box.ended, box.events()) == ([], [])
    found = box.report()
    assert found["engines"] == [
        {"unit": UNIT, "starting": False, "memory": int(70 * GIB) + int(1.5 * GIB), "since": 500.0, "waits": False}
    ]
    assert (found["mode"], found["floor"], found["full"]) == ("protect", 3 * GIB, 0.0)
    # 121.7 - 40 available - 71.5 of the engine
    assert found["others"]["most"] / GIB == pytest.approx(10.2, abs=0.01)


def test_at_the_floor_one_engine_is_taken_down_and_kept_down(box: Box) -> None:
    box.step(20)
    box.step(2.5)
    assert box.ended == [f"/system.slice/{UNIT}"]
    assert box.events() == ["took flagship@spark-a down: 2.5 GiB are left of 121.7, the floor is 3.0"]
    hold = holds.read(box.root)[UNIT]
    assert (hold.reason, hold.lasting) == ("2.5 GiB are left of 121.7, the floor is 3.0", False)
    assert hold.needs == int(int(121.7 * GIB) // 1024 * 1024 * 0.78)
    box.step(2.4)
    assert len(box.ended) == 1


def test_a_reading_that_the_second_one_does_not_bear_out(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    box.step(20)
    again = box.service.sampler.now
    readings = iter([2.5, 30.0])

    def flickers() -> Any:
        box.available = next(readings)
        box.write()
        return again()

    monkeypatch.setattr(box.service.sampler, "now", flickers)
    box.at += 0.5
    box.service.step()
    assert box.ended == []


def test_it_is_let_go_when_there_was_room_for_a_while(box: Box) -> None:
    box.step(20)
    box.step(2.5)
    box.step(100, 20.0, times=5)  # 94.9 are needed, and 8 kept free
    assert UNIT in holds.read(box.root)
    box.step(104, 5.0, times=int(CALM / 5))
    assert UNIT in holds.read(box.root)
    box.step(104, 5.0, times=3)
    assert holds.read(box.root) == {}
    assert box.events()[-1] == f"{UNIT} may start again: there has been room for it for 300 s"


@pytest.mark.parametrize("pause", [0, 1])
def test_room_that_there_was_before_its_hold_is_none_for_it(box: Box, pause: int) -> None:
    """Somebody let it go, and it had to go again: with a look between both, or none."""
    hold = holds.Hold(UNIT, "why", "other", 995.0, needs=50 * GIB)
    (box.root / "sys/fs/cgroup/system.slice" / UNIT / "cgroup.procs").write_text("")
    holds.put(hold, box.root)
    box.step(100, 5.0, times=int(CALM / 5) - 5)
    holds.drop(UNIT, box.root)
    box.step(100, 5.0, times=pause)
    box.service._holding.keep_down(holds.Hold(UNIT, "again", "other", box.at, needs=50 * GIB))
    box.step(100, 5.0, times=int(CALM / 5) - 1)
    assert UNIT in holds.read(box.root)
    box.step(100, 5.0, times=3)
    assert holds.read(box.root) == {}


def test_the_second_time_within_a_day_only_a_person_lets_it_go(box: Box) -> None:
    box.step(20)
    box.step(2.5)
    holds.drop(UNIT, box.root)
    box.start()
    box.step(60, 20.0, times=3)
    box.step(2.5)
    assert holds.read(box.root)[UNIT].lasting
    box.step(110, 20.0, times=25)
    assert holds.read(box.root)[UNIT].lasting


def test_a_copy_that_runs_again_is_held_no_longer(box: Box) -> None:
    holds.put(holds.Hold(UNIT, "why", "other", 0.0, lasting=True), box.root)
    box.step(40, 5.0)
    assert holds.read(box.root) == {}


def test_a_copy_that_is_long_in_ending_stays_held(box: Box) -> None:
    """A process that waits for its card outlives SIGKILL by minutes: it is the old one, and keeps its hold."""
    holds.put(holds.Hold(UNIT, "why", "other", 900.0, lasting=True), box.root)
    box.step(40, 5.0, times=10)
    assert holds.read(box.root)[UNIT].lasting
    box.started = 960.0
    box.step(40, 20.0)
    assert holds.read(box.root) == {}


@pytest.mark.parametrize("sub", ["condition", "start"])
def test_a_hold_outlives_the_reboot_that_asks_for_it(box: Box, sub: str) -> None:
    """Older than the boot, while the unit's ExecCondition runs: no start of that boot is known of it."""
    holds.put(holds.Hold(UNIT, "why", "other", -5000.0, lasting=True), box.root)
    box.active, box.sub, box.started = "activating", sub, 0.0
    box.step(40, 5.0, times=3)
    assert holds.read(box.root)[UNIT].lasting


def test_a_journal_that_hangs_ends_no_guard_and_is_not_asked_all_the_time(box: Box) -> None:
    box.active, box.hangs, asked = "activating", "journalctl", []
    program = box.service.sampler.run
    box.service.sampler.run = lambda argv: asked.append(argv[0]) or program(argv)  # type: ignore[func-returns-value]
    box.step(60, times=40)
    assert asked == ["journalctl"] * 2
    assert box.said == ["`journalctl` gave no answer within 3 s"]
    box.step(2.5)
    assert box.ended == [f"/system.slice/{UNIT}"]


@pytest.mark.parametrize("who", ["systemctl", "docker", "journalctl"])
def test_an_answer_that_nobody_expects_ends_no_guard(box: Box, who: str, monkeypatch: pytest.MonkeyPatch) -> None:
    box.active = "activating"
    box.step(60)
    told: dict[str, Any] = {"systemctl": "show", "journalctl": "run"}

    def odd(*_asked: Any, **_kept: Any) -> Any:
        raise KeyError("Pid")

    if who == "docker":
        monkeypatch.setattr("floor.guard.look.containers.inspect", odd)
    else:
        setattr(box.service.sampler, told[who], odd)
    box.step(60, times=40)
    assert box.said == ["an answer cannot be made sense of: KeyError: 'Pid'"]
    box.step(2.5)
    assert box.ended == [f"/system.slice/{UNIT}"]


def test_a_systemd_that_hangs_is_not_asked_again_at_once(box: Box) -> None:
    asked: list[float] = []

    def hangs(_argv: Sequence[str], _timeout: float) -> str:
        asked.append(box.at)
        raise FloorError("systemctl show: no answer in 3 s")

    box.active = "activating"
    box.step(60)
    box.service.sampler.show = hangs
    box.step(60, times=40)
    assert [second - first for first, second in pairwise(asked)] == [15.0]


def test_an_old_question_that_fails_keeps_nobody_from_a_new_one(box: Box) -> None:
    """A copy is let start while systemd hangs, and its answer comes a moment before its thread is over."""
    box.step(60)
    asked: list[Callable[[], None]] = []
    beside = box.service.sampler._beside
    beside._begin = asked.append
    box.step(60, 15.0)
    promises.put(UNIT, box.root, box.at)
    beside._answers.append(FloorError("systemctl show: no answer in 10 s"))
    box.step(60)
    assert len(asked) == 1
    beside._busy = False
    box.step(60)
    assert len(asked) == 2


def test_a_box_that_is_a_container_has_what_its_group_leaves(box: Box) -> None:
    """O28: the machine around it has plenty, and tells so in /proc."""
    group = box.root / "sys/fs/cgroup"
    (group / "memory.max").write_text(f"{64 * GIB}\n")
    (group / "memory.current").write_text(f"{50 * GIB}\n")
    (group / "memory.stat").write_text("inactive_file 0\n")
    box.step(100)
    (group / "memory.current").write_text(f"{63 * GIB}\n")
    box.step(100)
    assert box.events() == ["took flagship@spark-a down: 1.0 GiB are left of 64.0, the floor is 1.6"]


def test_a_copy_that_starts_is_looked_at_at_once(box: Box) -> None:
    """Not at the next turn, which may be fifteen seconds away: memory goes within four."""
    group = box.root / "sys/fs/cgroup/system.slice" / UNIT / "cgroup.procs"
    group.write_text("")
    box.step(110)
    group.write_text("71\n")
    box.active = "activating"
    promises.put(UNIT, box.root, box.at)
    box.step(60)
    box.step(2.5, 0.1)
    assert box.ended == [f"/system.slice/{UNIT}"]


def test_where_one_must_go_and_none_is_known_it_looks_once_more(box: Box) -> None:
    group = box.root / "sys/fs/cgroup/system.slice" / UNIT / "cgroup.procs"
    group.write_text("")
    box.step(110)
    group.write_text("71\n")
    box.step(2.5, 0.1)
    assert box.ended == [f"/system.slice/{UNIT}"]


@pytest.mark.parametrize("sub", ["condition", "start-pre", "auto-restart", "auto-restart-queued"])
def test_what_only_waits_for_its_start_is_not_taken_for_what_others_take(box: Box, sub: str) -> None:
    """For room, or at a group's gate for hours: it holds nothing."""
    box.active, box.sub = "activating", sub
    box.step(20, times=2)
    box.step(2.5, times=10)
    assert (box.ended, holds.read(box.root)) == ([], {})
    assert box.report()["engines"][0]["waits"]
    box.sub = "start"
    box.step(2.5, 1.0, times=3)
    assert box.ended == [f"/system.slice/{UNIT}"]


def test_what_was_known_of_a_start_is_not_believed_of_the_next(box: Box) -> None:
    """An engine dies, and ten seconds later its unit waits for room: no look may have been made since."""
    group = box.root / "sys/fs/cgroup/system.slice" / UNIT / "cgroup.procs"
    box.step(20)
    group.write_text("")
    box.step(90, 0.5)
    group.write_text("72\n")
    box.active, box.sub = "activating", "start-pre"
    box.step(90, 0.5, times=2)
    box.step(2.5, 0.1, times=5)
    assert (box.ended, holds.read(box.root)) == ([], {})


def test_observing_only_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "read", lambda _nvml: gpu.Cards({}, True))
    box = Box(tmp_path, mode="observe")
    box.step(20)
    box.step(2.5)
    assert (box.ended, holds.read(box.root)) == ([], {})
    said = "would have taken flagship@spark-a down: 2.5 GiB are left of 121.7, the floor is 3.0"
    assert box.events() == [said]
    box.step(2.5, 60.0, times=59)
    assert box.events() == [said]
    box.step(2.5, 60.0, times=3)
    assert box.events() == [said, said]  # after an hour
    box.step(20, 5.0, times=2)
    box.step(2.5, 20.0, times=5)
    assert box.events() == [said, said, said]  # another time
    box.active = "activating"
    box.log = ["Estimated CUDA graph memory: -3.10 GiB total", "Available KV cache memory: 90.60 GiB"]
    box.step(20, 20.0, times=4)
    assert len(box.events()) == 4
    assert "its log estimates -3.1 GiB" in box.events()[-1]


def test_a_start_that_announces_too_much_is_ended_before_it_takes_it(box: Box) -> None:
    box.active = "activating"
    box.log = ["Model loading took 71.1 GiB and 300 seconds", "Available KV cache memory: 20.00 GiB"]
    box.step(60, times=3)
    assert box.ended == []
    box.log = ["Estimated CUDA graph memory: -3.10 GiB total", "Available KV cache memory: 90.60 GiB"]
    box.step(60, 2.5, times=2)
    assert box.ended == [f"/system.slice/{UNIT}"]
    assert holds.read(box.root)[UNIT].lasting
    assert "its log estimates -3.1 GiB for CUDA graphs" in box.events()[0]


@pytest.mark.parametrize("how", ["let start", "looked at", "seen to end"])
def test_what_an_earlier_start_announced_ends_no_later_one(box: Box, how: str) -> None:
    """The journal may answer late."""
    box.active, late = "activating", list[Callable[[], None]]()
    box.log = ["Estimated CUDA graph memory: -3.10 GiB total", "Available KV cache memory: 90.60 GiB"]
    box.service._journal._begin = late.append
    box.step(60)
    late[0]()
    box.at += 0.1
    look = box.service.sampler._beside
    if how == "looked at":
        box.invocation = "run-2"
        box.service.sampler.forget()
        box.service.sampler.now()
    else:
        look._begin = lambda _work: None
        if how == "let start":
            promises.put(UNIT, box.root, box.at)
        else:
            box.service.sampler.forget(UNIT)
    box.step(60, 0.1)
    assert (box.ended, box.report()["starts"]) == ([], {})


def test_what_a_start_logged_is_kept_for_advice(box: Box) -> None:
    box.active = "activating"
    box.log = ["Model loading took 71.1 GiB and 300 seconds", "Available KV cache memory: 20.00 GiB"]
    box.step(60, 5.0, times=2)
    assert box.report()["starts"][UNIT]["start"]["available"] == 20.0
    assert box.report()["starts"][UNIT]["utilization"] == 0.78


def test_an_engine_that_does_not_tell_what_it_holds_leaves_others_unknown(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu, "read", lambda _nvml: gpu.Cards({}, True))
    box.step(40, 15.0, times=5)
    assert box.report()["engines"][0]["memory"] is None
    assert box.report()["others"] is None


def test_on_cards_of_their_own_only_what_lies_beside_them_counts(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "read", lambda _nvml: gpu.Cards({71: 70 * GIB}, False))
    box.step(100, 15.0, times=5)
    assert box.report()["others"]["most"] / GIB == pytest.approx(20.2, abs=0.01)


def test_history_and_kills_outlive_the_service(box: Box) -> None:
    box.step(20, times=3)
    box.step(2.5)
    fresh = Box.__new__(Box)
    fresh.__dict__.update(box.__dict__)
    kept = json.loads((box.root / "var/lib/floor/guard-history.json").read_text())
    assert kept["kills"][UNIT] == [box.at]
    assert sum(count for day in kept["others"]["days"].values() for count in day.values()) >= 1


def test_a_broken_history_begins_anew_and_says_so(box: Box) -> None:
    place = box.root / "var/lib/floor/guard-history.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("[]")
    box.service.stop()

    class Silent:
        def ready(self, _text: str) -> None: ...
        def stopping(self) -> None: ...

    box.service.run(Silent())  # type: ignore[arg-type]
    assert "its history begins anew" in box.events()[0]


def test_while_docker_hangs_memory_is_watched_and_an_engine_that_starts_meanwhile_is_known(box: Box) -> None:
    """Who has processes is read from the control groups with every sample, whatever else gives no answer."""
    unanswered: list[Callable[[], None]] = []
    group = box.root / "sys/fs/cgroup/system.slice" / UNIT / "cgroup.procs"
    group.write_text("")
    box.step(110)
    box.service.sampler._beside._begin = unanswered.append
    group.write_text("71\n")
    promises.put(UNIT, box.root, box.at)
    box.step(60, times=40)
    assert len(unanswered) == 1
    assert box.report()["engines"] == [
        {"unit": UNIT, "starting": True, "memory": None, "since": 1001.0, "waits": False}
    ]
    box.step(2.5, 0.1)
    assert box.ended == [f"/system.slice/{UNIT}"]
    assert holds.read(box.root)[UNIT].reason == "2.5 GiB are left of 121.7, the floor is 3.0"


def test_a_docker_that_hangs_takes_nothing_away_of_what_systemd_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And its container is that of before: one outlives docker's service."""
    monkeypatch.setattr(gpu, "read", lambda _nvml: gpu.Cards({91: 70 * GIB}, True))
    box = Box(tmp_path, docker=True)
    group = box.root / "sys/fs/cgroup/docker/c"
    for name, text in {
        box.root / "proc/91/cgroup": "0::/docker/c\n",
        group / "cgroup.procs": "91\n",
        group / "memory.stat": "anon 0\n",
    }.items():
        name.parent.mkdir(parents=True, exist_ok=True)
        name.write_text(text)
    box.step(40, 5.0)
    box.hangs, box.active = "docker", "activating"
    box.step(40, 20.0, times=3)
    assert box.said == ["`docker` gave no answer within 3 s"]
    assert [(one["starting"], one["memory"]) for one in box.report()["engines"]] == [(True, 70 * GIB + int(1.5 * GIB))]
    box.step(2.5)
    assert box.ended == [f"/system.slice/{UNIT}", "/docker/c"]


def test_what_is_killed_is_killed_before_anything_of_it_is_read_or_written(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its /proc may wait for memory, and a disk may hang: the launch is that of the last look, and a second kill comes
    before the first one is written down."""
    environ = box.root / "proc/71/environ"
    environ.parent.mkdir(parents=True)
    environ.write_text("FLOOR_LAUNCH=00ff\0")
    hung: list[Callable[[], None]] = []
    box.service._written._begin = box.service._marked._begin = hung.append
    box.step(20)
    monkeypatch.setattr("floor.guard.look.launch", lambda *_: pytest.fail("/proc was read"))
    box.service.sampler._beside._begin = lambda _work: None
    box.step(2.5)
    box.start()
    box.step(20, 20.0, times=2)
    box.step(2.5)
    assert box.ended == [f"/system.slice/{UNIT}"] * 2
    assert (len(hung), holds.read(box.root), box.said) == (2, {}, [])
    for work in hung:
        work()
    assert (holds.read(box.root)[UNIT].launch, holds.read(box.root)[UNIT].lasting) == ("", True)
    assert [text[:30] for text in box.events()] == ["took flagship@spark-a down: 2."] * 2
    assert box.report()["at"] == box.at - 0.5


def test_the_launch_that_is_kept_down_is_the_one_that_ran(box: Box) -> None:
    environ = box.root / "proc/71/environ"
    environ.parent.mkdir(parents=True)
    environ.write_text("FLOOR_LAUNCH=00ff\0")
    box.step(20)
    box.step(2.5)
    assert holds.read(box.root)[UNIT].launch == "00ff"


def test_a_driver_that_hangs_is_said_once_and_leaves_a_guard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(gpu, "begun", asked.append)
    monkeypatch.setattr(gpu, "read", lambda _nvml: gpu.Cards({}, True))
    box = Box(tmp_path)
    assert asked == []  # not before it watches
    hung: list[Callable[[], None]] = []
    box.service.sampler._beside._begin = hung.append
    box.step(40, 5.0, times=12)
    assert box.said == []
    box.step(40, 5.0, times=30)
    assert box.said == [
        "systemd, docker or the driver has given no answer for a minute: what engines hold is what they held before"
    ]
    assert box.report()["asked"] is None
    box.step(2.5)
    assert box.ended == [f"/system.slice/{UNIT}"]
    hung[0]()
    assert asked == [None]


def test_what_is_wrong_again_after_an_hour_is_said_again(box: Box) -> None:
    show = box.service.sampler.show

    def hangs(_argv: Sequence[str], _timeout: float) -> str:
        raise FloorError("systemctl show: no answer in 10 s")

    for seconds in (20.0, 3600.0):
        box.service.sampler.show = hangs
        box.step(60, 20.0, times=3)
        box.service.sampler.show = show
        box.step(60, seconds, times=2)
    assert box.said == ["systemctl show: no answer in 10 s"]
    box.service.sampler.show = hangs
    box.step(60, 20.0, times=3)
    assert box.said == ["systemctl show: no answer in 10 s"] * 2


def test_an_engine_that_is_gone_is_no_engine_before_anybody_looks(box: Box) -> None:
    box.step(40)
    (box.root / "sys/fs/cgroup/system.slice" / UNIT / "cgroup.procs").write_text("")
    box.step(2.5, 5.0)
    assert box.report()["engines"] == []
    assert box.ended == []
