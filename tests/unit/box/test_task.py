"""Long work on a box: one at a time, seen to be dead when it is, and its secret in no file."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from floor.box import task
from floor.box.command import Result
from floor.errors import FloorError, UsageError

TASK = "0123456789ab"
JOB = {"kind": "weights", "what": "org/flagship at aaa"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "run/floor/fetch").mkdir(parents=True)
    return tmp_path


class Systemd:
    """systemd-run: the unit is a thread that takes its lock, and then its secret."""

    def __init__(self, root: Path, *, secret: bool = False) -> None:
        self.root, self.secret = root, secret
        self.ran: list[list[str]] = []
        self.got: list[str] = []
        self.handle: int | None = None
        self.thread = threading.Thread(target=self._work)

    def __call__(self, argv: Sequence[str]) -> Result:
        self.ran.append(list(argv))
        self.thread.start()
        return Result(0, "", "")

    def _work(self) -> None:
        self.handle = task.hold(TASK, self.root)
        if self.secret:
            self.got.append(task.receive(TASK, self.root))

    def dies(self) -> None:
        self.thread.join()
        assert self.handle is not None
        os.close(self.handle)


def test_the_unit_is_transient_yields_to_engines_and_has_no_secret_in_its_words(root: Path) -> None:
    systemd = Systemd(root, secret=True)
    assert task.start(TASK, JOB, "hf_secret", root, systemd)
    systemd.dies()
    [argv] = systemd.ran
    assert argv[:5] == [
        "systemd-run",
        "--quiet",
        "--collect",
        "--no-ask-password",
        f"--unit=floor-fetch-{TASK}.service",
    ]
    assert "--property=Nice=10" in argv
    assert argv[argv.index("--") + 1 :][1:] == ["-I", "-m", "floor.agent.fetch", "--root", str(root), TASK]
    assert systemd.got == ["hf_secret"]
    assert "hf_secret" not in " ".join(argv)
    left = {place.name for place in (root / "run/floor/fetch").iterdir()}
    assert f"{TASK}.secret" not in left
    assert not any(b"hf_secret" in (root / "run/floor/fetch" / name).read_bytes() for name in left)
    assert (root / "run/floor/fetch" / f"{TASK}.json").stat().st_mode & 0o777 == 0o600


def test_one_that_runs_is_not_begun_again(root: Path) -> None:
    first = Systemd(root)
    assert task.start(TASK, JOB, None, root, first)
    second = Systemd(root)
    assert not task.start(TASK, {"kind": "other"}, None, root, second)
    assert second.ran == []
    assert task.job(TASK, root) == JOB
    assert task.pid(TASK, root) == os.getpid()
    first.dies()
    assert task.pid(TASK, root) is None


def test_one_that_is_about_to_end_is_waited_for(root: Path) -> None:
    first, second = Systemd(root), Systemd(root)
    task.start(TASK, JOB, None, root, first)
    task.place(TASK, "state.json", root).write_text(json.dumps({"state": "failed"}))
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 1:
            first.dies()
        time.sleep(0.01)

    assert task.start(TASK, JOB, None, root, second, sleep)
    assert len(second.ran) == 1
    second.dies()


def test_a_process_that_is_gone_before_its_end_has_died(root: Path) -> None:
    assert task.state(TASK, root) is None
    systemd = Systemd(root)
    task.start(TASK, JOB, None, root, systemd)
    place = task.place(TASK, "state.json", root)
    place.write_text(json.dumps({"state": "working", "done": 5}))
    assert task.state(TASK, root) == {"state": "working", "done": 5}
    systemd.dies()
    assert task.state(TASK, root) == {"state": "died", "done": 5}
    place.write_text(json.dumps({"state": "done"}))
    assert task.state(TASK, root) == {"state": "done"}


def test_what_systemd_says_is_told(root: Path) -> None:
    with pytest.raises(FloorError, match=rf"floor-fetch-{TASK}\.service cannot be started: no bus"):
        task.start(TASK, JOB, None, root, lambda _argv: Result(1, "", "no bus"))


def test_a_unit_that_does_not_begin_is_told(root: Path) -> None:
    with pytest.raises(FloorError, match=rf"does not begin; see `journalctl -u floor-fetch-{TASK}\.service`"):
        task.start(TASK, JOB, None, root, lambda _argv: Result(0, "", ""), lambda _seconds: None)


def test_stopping_what_does_not_run_is_no_work(root: Path) -> None:
    assert task.stop(TASK, root) is False


@pytest.mark.parametrize("name", ["", "../../etc/x", "0123", "serve-", "0123456789AB"])
def test_a_name_that_is_none(root: Path, name: str) -> None:
    with pytest.raises(UsageError, match="must be twelve hex digits"):
        task.place(name, "json", root)
