"""Who else could start or stop engines, looked for after a deployment: the trap of a unit that lies there disabled."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from floor.box.command import Result
from floor.box.foreign import later
from floor.box.foreign.rivals import rivals
from floor.notify.foreign import words

OURS = "floor-copy-flagship.service"
SHOWN = {
    "heal.timer": "Id=heal.timer\nFragmentPath=/etc/systemd/system/heal.timer\nUnitFileState=enabled\n"
    "ActiveState=active\nTriggers=heal.service\n",
    "heal.service": "Id=heal.service\nFragmentPath=/etc/systemd/system/heal.service\nUnitFileState=static\n"
    "ActiveState=inactive\nExecStart={ path=/srv/heal.sh ; argv[]=/srv/heal.sh ; ignore_errors=no ; x }\n",
}


def systemd(argv: Sequence[str], **_kept: object) -> Result:
    if argv[0] != "systemctl":
        return Result(None, "", "not there")
    if argv[1].startswith("list"):
        return Result(0, "heal.timer enabled\n", "")
    return Result(0, "\n\n".join(SHOWN[name].strip() for name in argv if name in SHOWN), "")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for folder in ("srv", "proc/net", "etc/systemd/system/other.service.d", "usr/lib/systemd/system", "var/lib/floor"):
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path


def write(root: Path, script: str) -> None:
    (root / "srv/heal.sh").write_text(f"#!/bin/sh\n{script}\n")


def look(root: Path) -> list[str]:
    return words(later.look([OURS], [8000], root, systemd), [OURS], [8000], ["vllm"])


def test_unit_files_and_drop_ins_that_conflict_with_ours_whatever_their_state(root: Path) -> None:
    units = root / "etc/systemd/system"
    (units / "big.service").write_text(f"[Unit]\nConflicts=shutdown.target \\\n  {OURS}\n")
    (units / "other.service.d/more.conf").write_text(f"[Unit]\nConflicts = {OURS} floor-group-flagship.service\n")
    (root / "usr/lib/systemd/system/small.service").write_text(
        "[Unit]\nConflicts=sleep.target\n# floor-copy-x.service\n"
    )
    (units / "floor-mine.service").write_text(f"[Unit]\nConflicts={OURS}\n")
    (units / "broken.service").write_bytes(b"Conflicts=\xff\xfe")
    assert rivals(root) == {"big.service": [OURS], "other.service": [OURS, "floor-group-flagship.service"]}


def test_a_watchdog_that_would_restart_a_unit_whose_start_stops_ours(root: Path) -> None:
    (root / "etc/systemd/system/big.service").write_text(f"[Unit]\nConflicts={OURS}\n")
    write(root, "systemctl is-active --quiet big || systemctl restart big")
    (line,) = look(root)
    assert line.startswith("heal.timer (somebody else's) may start or stop engines: /srv/heal.sh:2 says `systemctl is-")
    assert line.endswith(f"|| systemctl restart big`, and big conflicts with {OURS}")


@pytest.mark.parametrize(
    ("script", "named"),
    [
        ("systemctl restart vllm", True),  # an engine of the kind of ours
        ("curl -sf localhost:8000/health || docker restart main", True),  # our port
        ("curl -sf localhost:8000/health || mail ann", False),  # only asks
        ("watch-units floor-copy-flagship.service", False),  # `service` is no command there
        ("systemctl restart ollama", False),  # another kind
        ("systemctl restart nginx", False),
        ("systemctl stop floor-group-flagship", True),
    ],
)
def test_what_a_deployment_would_stop_at(root: Path, script: str, *, named: bool) -> None:
    write(root, script)
    assert bool(look(root)) is named


def test_who_brings_back_what_floor_took_the_place_of(root: Path) -> None:
    write(root, "systemctl restart big")
    assert look(root) == []
    entry = {"kind": "unit", "name": "big.service", "key": None, "at": 0, "was": {}}
    (root / "var/lib/floor/taken-over.json").write_text(json.dumps({"taken": [entry]}))
    assert "may start or stop engines: /srv/heal.sh:2 says `systemctl restart big`" in look(root)[0]
    (root / "var/lib/floor/taken-over.json").write_text("[")
    assert look(root) == []


def test_an_engine_of_somebody_elses_that_runs_here_may_be_looked_after(root: Path) -> None:
    """As for a deployment: it is named there, and stays."""
    process = root / "proc/71"
    (process / "fd").mkdir(parents=True)
    (process / "cmdline").write_bytes(b"/opt/vllm\0serve\0/m\0")
    (process / "cgroup").write_text("0::/system.slice/vllm.service\n")
    (process / "status").write_text("Name:\tvllm\nPPid:\t1\nUid:\t0\t0\t0\t0\n")
    write(root, "systemctl is-active vllm || systemctl restart vllm")
    assert look(root) == []
