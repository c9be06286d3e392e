"""Processes of others, read from a /proc laid out by hand: what they are, whose, and where they listen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from floor.box.foreign import procs, sockets

ID = "f" * 64
TCP = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 71 1 0 100 0 0 10 0
   1: 0100007F:2328 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 72 1 0 100 0 0 10 0
   2: 0100007F:2329 00000000:0000 01 00000000:00000000 00:00000000 00000000     0        0 73 1 0 100 0 0 10 0
"""


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    (tmp_path / "net").mkdir()
    (tmp_path / "net/tcp").write_text(TCP)
    return tmp_path


def run(
    proc: Path, pid: int, argv: list[str], *, parent: int = 1, group: str = "", env: str = "", fds: tuple[str, ...] = ()
) -> None:
    """Lay a process into /proc."""
    place = proc / str(pid)
    (place / "fd").mkdir(parents=True)
    (place / "cmdline").write_text("".join(f"{word}\0" for word in argv))
    (place / "status").write_text(f"Name:\tx\nPPid:\t{parent}\nUid:\t0\t0\t0\t0\nVmRSS:\t  2048 kB\n")
    (place / "cgroup").write_text(f"0::{group}\n")
    (place / "environ").write_text(env)
    (place / "cwd").symlink_to("/srv")
    for number, target in enumerate(fds):
        (place / "fd" / str(number)).symlink_to(target)


def every(proc: Path) -> dict[int, dict[str, Any]]:
    return {one["pid"]: one for one in procs.every(proc, [(ID, "vllm-main")])}


def test_an_engine_with_its_port_its_user_and_the_environment_that_matters(proc: Path) -> None:
    env = "VLLM_X=1\0HF_TOKEN=secret\0PATH=/bin\0SHELL=/bin/sh\0"
    argv = ["venv/bin/python3", "bin/vllm", "serve", "/m"]
    run(proc, 41, argv, group="/system.slice/vllm.service", env=env, fds=("socket:[71]", "/dev/nvidia0"))
    (one,) = every(proc).values()
    assert one["argv"] == ["/srv/venv/bin/python3", "/srv/bin/vllm", "serve", "/m"]
    assert (one["engine"], one["at"], one["user"], one["gpu"], one["memory"]) == ("vllm", 3, "root", True, 2 << 20)
    assert one["ports"] == [(8000, "0.0.0.0")]
    assert (one["env"], one["env_hidden"]) == ({"VLLM_X": "1"}, ["HF_TOKEN"])
    assert one["owner"] == {"kind": "unit", "name": "vllm.service"}


def test_workers_are_not_told_beside_their_parent(proc: Path) -> None:
    run(proc, 41, ["vllm", "serve", "/m"], fds=("socket:[71]",))
    run(proc, 42, ["VLLM::EngineCore"], parent=41, fds=("/dev/nvidia0",))
    run(proc, 50, ["nginx: master process"], fds=("socket:[72]",))
    run(proc, 51, ["nginx: worker process"], parent=50, fds=("socket:[72]",))
    run(proc, 60, ["sleep", "9"], fds=("socket:[73]",))
    assert sorted(every(proc)) == [41, 50]


def test_whoever_holds_a_gpu_or_much_memory_is_told(proc: Path) -> None:
    run(proc, 70, ["python3", "train.py"])
    run(proc, 71, ["postgres"])
    (proc / "71/status").write_text("PPid:\t1\nUid:\t0\t0\nVmRSS:\t 9437184 kB\n")
    run(proc, 72, ["bash"])
    found = {one["pid"]: one for one in procs.every(proc, (), [70])}
    assert {pid: (one["gpu"], one["memory"] >> 30) for pid, one in found.items()} == {70: (True, 0), 71: (False, 9)}


@pytest.mark.parametrize(
    ("group", "kind", "name"),
    [
        (f"/system.slice/docker-{ID}.scope", "container", "vllm-main"),
        (f"/docker/{ID}", "container", "vllm-main"),
        ("/system.slice/vllm.service", "unit", "vllm.service"),
        ("/system.slice/system-vllm.slice/vllm@a.service", "unit", "vllm@a.service"),
        ("/user.slice/user-1000.slice/user@1000.service/app.slice/vllm.service", "user-unit", "vllm.service"),
        ("/user.slice/user-1000.slice/user@1000.service/tmux-spawn-1.scope", "session", "a login"),
        ("/user.slice/user-1000.slice/session-3.scope", "session", "session-3"),
        ("/", "session", "a login"),
    ],
)
def test_who_keeps_a_process(group: str, kind: str, name: str) -> None:
    assert procs.owner(f"12:pids:{group}\n0::{group}\n", {ID: "vllm-main"}) == {"kind": kind, "name": name}


def test_addresses_of_the_kernel(proc: Path) -> None:
    (proc / "net/tcp6").write_text(
        "h\n 0: 00000000000000000000000001000000:1F90 00:0000 0A 0:0 0:0 0 0 0 81 1\n"
        " 1: 0000000000000000FFFF00000B02000A:1F91 00:0000 0A 0:0 0:0 0 0 0 82 1\n"
    )
    found = sockets.listening(proc)
    assert found["72"] == [(9000, "127.0.0.1")]
    assert found["81"] == [(8080, "::1")]
    assert found["82"][0][1] == "10.0.2.11"
    assert "73" not in found
