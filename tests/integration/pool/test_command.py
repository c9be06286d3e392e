"""`python -I -m floor.pool` as systemd runs it: one line for what is wrong, and never a traceback."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from floor.box import paths
from floor.pool.__main__ import main
from tests.unit.pool.documents import pool_json


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A box with settings and both keys, and nothing else."""
    for place, text in {
        paths.POOL_SETTINGS: json.dumps(pool_json()),
        paths.ENGINE_KEY: "engine\n",
        paths.STATUS_KEY: "status\n",
    }.items():
        paths.under(tmp_path, place).parent.mkdir(parents=True, exist_ok=True)
        paths.under(tmp_path, place).write_text(text)
    return tmp_path


def test_empty_makes_a_members_file_for_every_upstream_and_leaves_one_that_is_right(root: Path) -> None:
    members = paths.under(root, paths.MEMBERS)
    assert main(["--root", str(root), "--empty"]) == 0
    before = members.stat()
    assert "upstream floor_flagship {" in members.read_text()
    assert main(["--root", str(root), "--empty"]) == 0
    assert members.stat().st_ino == before.st_ino


def settings(change: dict[str, Any]) -> Callable[[Path], object]:
    return lambda root: paths.under(root, paths.POOL_SETTINGS).write_text(json.dumps(pool_json() | change))


WRONG = {
    "settings are missing": (lambda root: paths.under(root, paths.POOL_SETTINGS).unlink(), "pool.json: cannot be read"),
    "settings are wrong": (
        settings({"interval": "soon"}),
        "pool.json: interval: found 'soon', expected a number above 0",
    ),
    "a key is missing": (
        lambda root: paths.under(root, paths.ENGINE_KEY).unlink(),
        "engine.key: the key cannot be read",
    ),
    "a key is no key": (
        lambda root: paths.under(root, paths.ENGINE_KEY).write_text("a b\nc"),
        "engine.key: a key is one line of ASCII characters; remove the file",
    ),
    "the members file is none": (
        lambda root: paths.under(root, paths.MEMBERS).mkdir(parents=True),
        "members.conf: cannot be read",
    ),
    "the report cannot be written": (
        lambda root: paths.under(root, paths.POOL_STATE).mkdir(parents=True),
        "state.json: is a folder where a file must be",
    ),
}


@pytest.mark.parametrize(("change", "says"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_one_line_and_exit_code_1(
    root: Path, change: Callable[[Path], object], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    change(root)
    assert main(["--root", str(root), "--reload", "false"]) == 1
    said = capsys.readouterr().err
    assert said.splitlines()[-1].startswith("floor-pool: ")
    assert says in said.splitlines()[-1]
    assert "Traceback" not in said


def test_a_fault_of_our_own_is_one_line_with_its_place(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise ExceptionGroup("watching", [ZeroDivisionError("by nothing")])

    monkeypatch.setattr("floor.pool.service.decide", broken)
    assert main(["--root", str(root), "--reload", "false"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("floor-pool: a fault of floor's own, please report it: ZeroDivisionError('by nothing') at ")


def test_systemd_is_told_when_it_is_ready_that_it_lives_and_that_it_ends(root: Path, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        systemd.settimeout(10)
        argv = [sys.executable, "-I", "-m", "floor.pool", "--root", str(root), "--reload", "false"]
        environ = {"NOTIFY_SOCKET": str(tmp_path / "notify")}
        with subprocess.Popen(argv, env=environ, stderr=subprocess.DEVNULL) as pool:
            assert systemd.recv(999) == b"READY=1\nSTATUS=flagship: 0 of 2 in"
            assert systemd.recv(999) == b"WATCHDOG=1\nSTATUS=flagship: 0 of 2 in"
            pool.terminate()
            assert pool.wait(10) == 0
        said = [systemd.recv(999)]
        while said[-1] != b"STOPPING=1":
            said.append(systemd.recv(999))
