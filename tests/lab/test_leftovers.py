"""What a run of the lab leaves behind: nothing, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.lab import cgroups, faults, leftovers
from tests.lab.boxes import Lab, free_subnet, runs_folder
from tests.lab.machine import LabError, what_is_missing
from tests.lab.waiting import wait_for

ROOT = Path(__file__).parents[2]


@contextmanager
def other_lab() -> Iterator[subprocess.Popen[str]]:
    """Keep a lab of one box in a process of its own, killed at the end if it is still there."""
    argv = [sys.executable, "-m", "tests.lab.up", "--boxes", "1"]
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            first = process.stdout.readline()
            assert first.startswith("up after"), first
            yield process
        finally:
            process.kill()


def traces(process: subprocess.Popen[str]) -> list[str]:
    """Return all that is on this machine under the name of the process's run."""
    run_id = f"fl{process.pid}"
    folder = runs_folder() / run_id
    found = [f"interface or namespace {name}" for name in leftovers.named_after(run_id)]
    found += [f"cgroup {name}" for name in cgroups.names(f"{run_id}-")]
    found += [f"mount {place}" for place in leftovers.mounts_below(folder)]
    return found + ([f"folder {folder}"] if folder.exists() else [])


def test_a_second_lab_stands_beside_the_first_and_leaves_nothing_after_sigterm(lab: Lab) -> None:
    with other_lab() as other:
        subnet = (runs_folder() / f"fl{other.pid}" / "subnet").read_text()
        assert subnet != lab.subnet
        kinds = [trace.split()[0] for trace in traces(other)]
        assert kinds == [*["interface"] * 5, "cgroup", "mount", "folder"]
        other.send_signal(signal.SIGTERM)
        assert other.wait(30) == 0
        assert traces(other) == []


def test_the_next_lab_removes_what_a_killed_one_left_and_spares_the_living(lab: Lab) -> None:
    with other_lab() as killed:
        killed.kill()
        killed.wait(10)
        assert traces(killed) != []
        with other_lab() as following:
            assert traces(killed) == []
            assert lab.boxes["boxa"].run(["systemctl", "is-system-running"]).stdout == "running\n"
            following.send_signal(signal.SIGTERM)
            assert following.wait(30) == 0


def test_a_run_is_dead_when_nobody_holds_its_lock(lab: Lab, tmp_path: Path) -> None:
    assert leftovers.dead_runs([lab.folder, tmp_path]) == [tmp_path]


def test_subnets() -> None:
    assert free_subnet("", {}) == "10.77.0"
    assert free_subnet("", {"10.77.0": "fl1"}) == "10.78.0"
    assert free_subnet("10.90.0", {"10.77.0": "fl1"}) == "10.90.0"
    with pytest.raises(LabError, match=r"FLOOR_LAB_SUBNET=10\.77\.0 is taken by the running lab fl1: leave it unset"):
        free_subnet("10.77.0", {"10.77.0": "fl1"})
    with pytest.raises(LabError, match=r"all 16 subnets are taken by running labs \(fl77, .*end one"):
        free_subnet("", {f"10.{number}.0": f"fl{number}" for number in range(77, 93)})


def test_what_keeps_a_lab_from_starting_is_said_with_what_to_do() -> None:
    assert what_is_missing(0, lambda name: f"/usr/bin/{name}") == ""
    assert "needs root; found user id 1000: run it with sudo" in what_is_missing(1000)
    said = what_is_missing(0, lambda name: None if name == "debootstrap" else name)
    assert "not found on this machine: debootstrap; run: apt-get install" in said
    assert "systemd-container" in said


def test_what_descends_from_a_process() -> None:
    assert faults.below(2, [(1, 0), (2, 1), (3, 2), (4, 1), (5, 3)]) == [2, 3, 5]


def test_a_kill_may_miss_only_what_is_gone() -> None:
    gone, denied = "kill: (3): No such process\n", "kill: (2): Operation not permitted\n"
    assert faults.only_gone(gone)
    assert faults.only_gone(2 * gone)
    assert not faults.only_gone(gone + denied)
    assert not faults.only_gone("")


def test_waiting_ends_with_what_was_seen() -> None:
    with pytest.raises(LabError, match=r"the moon: not after .* the last answer was ''"):
        wait_for("the moon", lambda: "", 0.05, 0.01)
    assert wait_for("now", lambda: os.getpid(), 1) < 1
