"""Taking the place of others: recorded first, kept from coming back, and all of it undone again."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from floor.box.command import Result
from floor.box.foreign import crontab, procs, starters, take, taken
from floor.box.foreign.undo import undo
from floor.errors import FloorError, RefusedError

UNIT = {"kind": "unit", "name": "vllm.service", "key": None}
CONTAINER = {"kind": "container", "name": "vllm-main", "key": None}
LINE = "@reboot root docker start vllm-main"
CRON = {"kind": "cron", "name": "/etc/cron.d/models", "key": starters.digest(LINE)}


class Box:
    """systemd with a unit and docker with a container, as far as they are asked."""

    def __init__(self, root: Path) -> None:
        self.root, self.ran = root, []  # type: ignore[var-annotated]
        self.enabled, self.active = "enabled", "active"
        self.policy: dict[str, Any] = {"Name": "on-failure", "MaximumRetryCount": 5}
        self.running, self.removes, self.there = True, False, True
        (root / "var/lib/floor").mkdir(parents=True)
        (root / "etc/cron.d").mkdir(parents=True)
        (root / "etc/cron.d/models").write_text(f"# mine\n{LINE}\n5 * * * * root true\n")

    def run(self, argv: Sequence[str]) -> Result:
        words = [word for word in argv if not word.startswith("-")]
        line = " ".join(words)
        if words[1] == "show":
            load = "loaded" if self.there else "not-found"
            return Result(0, f"LoadState={load}\nUnitFileState={self.enabled}\nActiveState={self.active}\n", "")
        if line.startswith("docker container inspect"):
            told = [
                {
                    "HostConfig": {"RestartPolicy": self.policy, "AutoRemove": self.removes},
                    "State": {"Running": self.running},
                }
            ]
            return Result(0, json.dumps(told), "") if self.there else Result(1, "[]", "No such container")
        kept = (self.root / "var/lib/floor/taken-over.json").exists()
        self.ran.append(f"{' '.join(argv)}" if kept else f"NOT RECORDED: {line}")
        match words[1]:
            case "stop" | "kill":
                self.active, self.running = "inactive", False
            case "disable":
                self.enabled = "disabled"
        return Result(0, "", "")


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path)


def test_a_unit_is_recorded_disabled_and_stopped_and_comes_back_as_it_was(box: Box) -> None:
    take.stop(UNIT, box.root, box.run)
    assert box.ran == [
        "systemctl --quiet --no-ask-password disable -- vllm.service",
        "systemctl --quiet --no-ask-password stop --no-block -- vllm.service",
    ]
    assert not take.running(UNIT, box.root, box.run)
    take.stop(UNIT, box.root, box.run)  # again: what was recorded at first stays
    (entry,) = taken.read(box.root)
    assert entry["was"] == {"enabled": "enabled", "active": "active", "running": True}
    box.ran.clear()
    assert undo(box.root, box.run) == ["unit vllm.service is as it was: enabled and started"]
    assert [line.split()[3] for line in box.ran] == ["enable", "start"]
    assert taken.read(box.root) == []
    assert not (box.root / "var/lib/floor/taken-over.json").exists()


def test_a_container_loses_its_policy_and_gets_it_back(box: Box) -> None:
    take.stop(CONTAINER, box.root, box.run)
    assert box.ran == ["docker update --restart=no vllm-main", "docker stop -t 10 vllm-main"]
    box.ran.clear()
    assert undo(box.root, box.run) == ["container vllm-main is as it was: restart policy on-failure:5, started"]
    assert box.ran == ["docker update --restart=on-failure:5 vllm-main", "docker start vllm-main"]


def test_a_container_with_rm_cannot_come_back_and_says_so(box: Box) -> None:
    box.removes = True
    take.stop(CONTAINER, box.root, box.run)
    assert box.ran == ["docker stop -t 10 vllm-main"]
    assert undo(box.root, box.run) == [
        "container vllm-main was started with --rm and is gone; start it again as you did"
    ]


def test_what_does_not_end_is_killed(box: Box) -> None:
    take.stop(UNIT, box.root, box.run, kill=True)
    assert box.ran[-1] == "systemctl --quiet --no-ask-password kill --signal=SIGKILL -- vllm.service"


def test_what_is_gone_meanwhile_is_no_fault(box: Box) -> None:
    box.there = False
    take.stop(UNIT, box.root, box.run)
    take.stop(CONTAINER, box.root, box.run)
    assert (box.ran, taken.read(box.root)) == ([], [])


def test_a_line_of_cron_is_commented_out_and_comes_back(box: Box) -> None:
    place = box.root / "etc/cron.d/models"
    before = place.read_text()
    place.chmod(0o640)
    take.disable(CRON, box.root, box.run)
    assert place.read_text() == f"# mine\n# taken over by floor: {LINE}\n5 * * * * root true\n"
    assert place.stat().st_mode & 0o777 == 0o640
    assert (box.root / "var/lib/floor/taken-over/etc-cron.d-models").read_text() == before
    assert take.look(CRON, box.root, box.run) is None
    place.write_text(place.read_text() + "# added meanwhile\n")
    assert undo(box.root, box.run) == ["/etc/cron.d/models: its line is in force again"]
    assert place.read_text() == before + "# added meanwhile\n"


def test_a_file_of_cron_keeps_every_byte_that_is_not_the_lines(box: Box) -> None:
    place = box.root / "etc/cron.d/models"
    before = f"# caf\xe9 \x0c of old\r\n{LINE}\n# no end of line".encode("latin-1")
    place.write_bytes(before)
    take.disable(CRON, box.root, box.run)
    assert place.read_bytes() == before.replace(LINE.encode(), f"{crontab.MARK}{LINE}".encode())
    assert (box.root / "var/lib/floor/taken-over/etc-cron.d-models").read_bytes() == before
    undo(box.root, box.run)
    assert place.read_bytes() == before


def test_a_file_of_cron_that_cannot_be_written_is_named_and_keeps_nothing_else_back(box: Box) -> None:
    taken.add(UNIT, {"enabled": "enabled", "running": True}, time.time(), box.root)
    take.disable(CRON, box.root, box.run)
    (box.root / "etc/cron.d/.models.floor").mkdir()  # where the new file would be written first
    first, second = undo(box.root, box.run)
    assert first.startswith("cron /etc/cron.d/models could not be brought back: /etc/cron.d/models: cannot be written")
    assert second == "unit vllm.service is as it was: enabled and started"


def test_a_process_that_is_just_ending_still_counts_as_running(tmp_path: Path) -> None:
    place = tmp_path / "proc/77"
    place.mkdir(parents=True)
    (place / "stat").write_text(f"77 (vllm) R {' '.join(['0'] * 18)} 4711 0\n")
    (place / "cmdline").write_bytes(b"")  # nor is there a link to its folder any more
    thing = {"kind": "process", "name": "77", "key": "4711"}
    assert take.look(thing, tmp_path) == {"argv": [], "folder": "?", "running": True}


def test_a_line_that_somebody_took_out_meanwhile_stays_out(box: Box) -> None:
    take.disable(CRON, box.root, box.run)
    (box.root / "etc/cron.d/models").write_text("# empty\n")
    assert undo(box.root, box.run) == ["/etc/cron.d/models: the line that floor took over is there no more"]


@pytest.mark.parametrize("path", ["/etc/passwd", "/etc/cron.d/../passwd", "/var/lib/x"])
def test_only_crons_own_files_are_changed(box: Box, path: str) -> None:
    with pytest.raises(RefusedError, match="is no file of cron's"):
        crontab.disable(Path(path), "x", box.root)


def test_a_process_started_by_hand_is_ended_and_named_in_the_end(tmp_path: Path, box: Box) -> None:
    with subprocess.Popen(["sleep", "60"], cwd=tmp_path) as process:
        key = str(procs.ticks(process.pid, Path("/proc")))
        (tmp_path / "proc").symlink_to("/proc")
        while not Path(f"/proc/{process.pid}/cmdline").read_bytes():
            time.sleep(0.01)  # it is not the program yet
        thing = {"kind": "process", "name": str(process.pid), "key": key}
        take.stop({**thing, "key": str(int(key) + 1)}, tmp_path, box.run)
        assert process.poll() is None  # another process has that number now
        take.stop(thing, tmp_path, box.run)
        assert process.wait(5) == -15
    assert undo(tmp_path, box.run) == [
        f"process {thing['name']} is not started by floor; it was, in {tmp_path}: sleep 60"
    ]


def test_what_cannot_be_brought_back_stays_on_record(box: Box) -> None:
    taken.add(UNIT, {"enabled": "enabled", "running": True}, time.time(), box.root)
    taken.add(CRON, {}, time.time(), box.root)

    def broken(argv: Sequence[str]) -> Result:
        return Result(1, "", "no") if "enable" in argv else box.run(argv)

    lines = undo(box.root, broken)
    assert lines[1].startswith("unit vllm.service could not be brought back: systemctl enable")
    assert [entry["name"] for entry in taken.read(box.root)] == ["vllm.service"]


def test_a_broken_record_is_told(box: Box) -> None:
    (box.root / "var/lib/floor/taken-over.json").write_text("[")
    with pytest.raises(FloorError, match=r"taken-over\.json: cannot be read; look at it, put it right or move it away"):
        undo(box.root, box.run)


def test_a_file_of_cron_that_is_a_link_is_left_to_a_person(box: Box) -> None:
    place = box.root / "etc/cron.d/models"
    place.rename(box.root / "elsewhere")
    place.symlink_to(box.root / "elsewhere")
    with pytest.raises(FloorError, match=r"/etc/cron\.d/models: is a link; change the line by hand where it leads to"):
        take.disable(CRON, box.root, box.run)
