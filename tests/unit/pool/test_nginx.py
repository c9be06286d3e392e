"""nginx's processes as /proc shows them."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from floor.errors import FloorError
from floor.pool.nginx import Processes, now_ticks, reload_by
from floor.pool.rollout import Process

MASTER = "nginx: master process /usr/sbin/nginx -c /etc/floor/nginx/nginx.conf"


class Proc:
    """A /proc with what a test puts there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pid_file = folder / "nginx.pid"

    def put(self, pid: int, parent: int, title: str, started: int = 100, state: str = "S") -> None:
        entry = self.folder / str(pid)
        entry.mkdir()
        # The name may hold anything, also what looks like the fields after it.
        fields = [state, str(parent), *["0"] * 17, str(started), *["0"] * 20]
        (entry / "stat").write_text(f"{pid} (a) b (c) {' '.join(fields)}\n")
        (entry / "cmdline").write_bytes(title.encode().replace(b" ", b"\0") if parent == 1 else title.encode() + b"\0")

    def children(self, pid: int, *pids: int) -> None:
        place = self.folder / f"{pid}/task/{pid}"
        place.mkdir(parents=True)
        (place / "children").write_text(" ".join(map(str, pids)))

    def processes(self) -> Processes:
        return Processes(self.pid_file, self.folder)


@pytest.fixture
def proc(tmp_path: Path) -> Proc:
    made = Proc(tmp_path)
    made.put(7, 1, MASTER)
    made.put(8, 7, "nginx: worker process")
    made.put(9, 7, "nginx: worker process is shutting down", started=90)
    made.put(10, 7, "nginx: cache manager process")
    made.put(11, 5, "nginx: worker process")
    made.put(12, 7, "nginx: worker process", state="Z")
    made.pid_file.write_text("7\n")
    return made


@pytest.mark.parametrize("listed", [True, False], ids=["by the kernel's list of children", "by asking everybody"])
def test_workers_are_the_masters_own_and_those_that_leave_are_told_apart(proc: Proc, listed: bool) -> None:
    if listed:
        proc.children(7, 8, 9, 10, 12)
    processes = proc.processes()
    master = processes.master()
    assert master == Process(7, 100)
    workers = sorted(processes.workers(master), key=lambda worker: worker.pid)
    assert workers == [Process(8, 100), Process(9, 90, leaving=True)]


def test_without_a_pid_file_nginx_does_not_run(proc: Proc) -> None:
    proc.pid_file.unlink()
    assert proc.processes().master() is None
    assert proc.processes().workers(None) == ()


@pytest.mark.parametrize("text", ["", "x", "8", "4711"])
def test_a_pid_file_that_names_no_master_is_not_believed(proc: Proc, text: str) -> None:
    proc.pid_file.write_text(text)
    assert proc.processes().master() is None


def test_this_very_machine_can_be_read() -> None:
    started = int(Path(f"/proc/{os.getpid()}/stat").read_text().rpartition(")")[2].split()[19])
    assert 0 < started <= now_ticks()


def nobody() -> None:
    raise AssertionError("nginx was told past systemd")


def test_at_a_shutdown_nginx_is_told_past_systemd() -> None:
    """Its unit has a stop queued, and systemd refuses every other job."""
    words = (
        "Failed to reload floor-proxy.service: Transaction for floor-proxy.service/reload is destructive "
        "(floor-proxy.service has 'stop' job queued, but 'reload' is included in transaction)."
    )
    told: list[bool] = []
    asyncio.run(reload_by(["sh", "-c", f'echo "{words}" >&2; exit 1'], lambda: told.append(True))())
    assert told == [True]


def test_a_master_that_is_gone_is_not_told(tmp_path: Path) -> None:
    Processes(tmp_path / "nginx.pid").hang_up()


def test_a_reload_that_fails_says_what_nginx_said() -> None:
    with pytest.raises(FloorError, match=r"^`sh -c .*`: nginx: \[emerg\] two lines; `journalctl -u floor-proxy`"):
        asyncio.run(reload_by(["sh", "-c", "echo nginx: [emerg]; echo two lines >&2; exit 3"], nobody)())


def test_a_reload_without_words_says_how_it_ended() -> None:
    with pytest.raises(FloorError, match=r"`sh -c exit 3`: exit status 3;"):
        asyncio.run(reload_by(["sh", "-c", "exit 3"], nobody)())


def test_a_command_that_is_missing_is_said() -> None:
    with pytest.raises(FloorError, match=r"`/no/such`: No such file or directory; floor-pool cannot reload nginx"):
        asyncio.run(reload_by(["/no/such"], nobody)())


def test_a_reload_that_takes_too_long_counts_as_asked_for() -> None:
    told: list[bool] = []
    asyncio.run(reload_by(["sleep", "60"], lambda: told.append(True), timeout=0.05)())
    assert told == [True]


@pytest.mark.parametrize(
    ("state", "number", "waits"),
    [("active", "7", True), ("reloading", "7", False), ("active", "0", False), ("active", "", False)],
)
def test_a_reload_that_waits_for_a_copy_that_waits_for_it_is_not_waited_for(
    state: str, number: str, *, waits: bool
) -> None:
    """systemd lets it wait while a copy of this box is being stopped; that copy waits until nginx has let go of it."""
    told: list[bool] = []
    job = ["printf", f"ActiveState={state}\nJob={number}\n"]
    asyncio.run(reload_by(["sleep", "60" if waits else "0.7"], lambda: told.append(True), timeout=600.0, job=job)())
    assert told == ([True] if waits else [])
