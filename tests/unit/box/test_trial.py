"""A trial of a start is bounded in memory, time and rank, and takes nothing where memory is short."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from floor.box import trial
from floor.box.command import Result
from floor.errors import FloorError
from tests.unit.box.conftest import Programs

GIB = 1 << 30


@pytest.fixture
def meminfo(root: Path) -> Path:
    (root / "proc/meminfo").write_text(f"MemTotal: {128 * GIB // 1024} kB\nMemAvailable: {5 * GIB // 1024} kB\n")
    return root


def tried(root: Path, run: Any, *, container: str | None = None, most: int = 3 * GIB) -> dict[str, Any]:
    return trial.run(
        ["/p", "-c", "x $y"], {"A": "b c"}, user="floor", container=container, most=most, seconds=9, root=root, run=run
    )


def test_a_program_runs_as_its_user_in_a_unit_of_its_own(meminfo: Path, programs: Programs) -> None:
    programs.on("systemd-run", out="fine", err="noise")
    assert tried(meminfo, programs) == {"code": 0, "out": "fine", "err": "noise", "skipped": "", "late": False}
    (argv,) = programs.ran
    assert argv[:5] == ["systemd-run", "--quiet", "--wait", "--pipe", "--collect"]
    assert {"--property=User=floor", f"--property=MemoryMax={3 * GIB}", "--property=RuntimeMaxSec=9"} <= set(argv)
    assert argv[-5:] == ["--setenv=A=b c", "--", "/p", "-c", "x $$y"]


def test_where_memory_is_short_nothing_is_started(meminfo: Path, programs: Programs) -> None:
    assert tried(meminfo, programs, most=5 * GIB)["skipped"] == "only 5.0 GiB of memory are free"
    assert programs.ran == []


def test_a_container_is_removed_whatever_happens(meminfo: Path, programs: Programs) -> None:
    def late(argv: Sequence[str]) -> Result:
        programs(argv)
        if argv[0] == "docker":
            return Result(0, "", "")
        raise FloorError("no answer")

    assert tried(meminfo, late, container="floor-trial-x")["late"]
    away = ["docker", "rm", "--force", "--", "floor-trial-x"]
    assert programs.ran == [away, ["/p", "-c", "x $y"], away]  # before it, too: a caller may have gone away


def test_one_that_systemd_ended_by_its_time_is_late_and_proves_nothing(meminfo: Path, programs: Programs) -> None:
    programs.on("systemd-run", code=1, err="Error: half a word")
    given: dict[str, Any] = {"user": "floor", "container": None, "most": GIB, "root": meminfo, "run": programs}
    assert trial.run(["/p"], {}, seconds=0, **given)["late"]
    assert not trial.run(["/p"], {}, seconds=9, **given)["late"]


def test_a_program_that_is_not_there_ends_as_a_shell_would_say(meminfo: Path, programs: Programs) -> None:
    assert tried(meminfo, programs)["code"] == 127
