"""The guard as a process on a box that is a folder, where docker and systemd give no answer for ten seconds."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from floor.box import paths
from tests.integration.pool.stage import until

UNIT = "floor-copy-flagship.service"
GIB_KB = 1 << 20
# What a copy in Docker is asked with. The engine itself is one process of its unit's group.
SETTINGS = {
    "mode": "protect",
    "floor": 3 << 30,
    "keep_free": 8 << 30,
    "copies": [{"backend": "flagship@spark-a", "unit": UNIT, "docker": True, "card": False}],
}
HANGS = '#!/bin/sh\necho "$0 $@" >> "$ASKED"\nexec sleep 10\n'
SECONDS = 8.0  # for each thing that is waited for: before anybody answers


def write(path: Path, text: str) -> None:
    """Whole or not at all, as the kernel gives it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(text)
    new.replace(path)


def test_an_engine_goes_in_time_while_docker_hangs(tmp_path: Path) -> None:
    def available(gib: float) -> None:
        write(tmp_path / "proc/meminfo", f"MemTotal: {122 * GIB_KB} kB\nMemAvailable: {int(gib * GIB_KB)} kB\n")

    available(60)
    group = tmp_path / "sys/fs/cgroup/system.slice" / UNIT
    write(group / "cgroup.procs", "71\n")
    write(paths.under(tmp_path, paths.GUARD_SETTINGS), json.dumps(SETTINGS))
    programs, asked = tmp_path / "programs", tmp_path / "asked"
    for name in ("docker", "systemctl", "journalctl"):
        write(programs / name, HANGS)
        (programs / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "ASKED": str(asked)}
    argv = [sys.executable, "-I", "-m", "floor.guard", "--root", str(tmp_path)]
    with subprocess.Popen(argv, env=environment, stderr=subprocess.PIPE, text=True) as guard:
        until(asked.exists, SECONDS)
        until(paths.under(tmp_path, paths.GUARD_STATE).exists, SECONDS)
        available(2.5)
        took = until((group / "cgroup.kill").exists, SECONDS)
        until(paths.under(tmp_path, paths.HOLDS).exists, SECONDS)
        guard.send_signal(signal.SIGTERM)
        assert guard.wait(5) == 0  # whoever has no answer yet holds up no end
    print(f"ended {took:.2f} s after memory fell, while nobody answered")
    assert took < 4  # a reading a second, twice; nobody answers for ten
    assert [line.split()[0] for line in asked.read_text().splitlines()] == [str(programs / "systemctl")]
