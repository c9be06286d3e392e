"""How the command ends: help, wrong words, errors, Ctrl-C, a reader that leaves, and our own defects."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer.main

from floor import __version__
from floor.__main__ import run
from floor.cli.app import app
from floor.errors import BoxError, BusyError, ConfigError, FloorError, RefusedError, UsageError
from tests.unit.cli.conftest import Floor

GROUP: Any = typer.main.get_command(app)


@pytest.mark.parametrize("name", [name for name in GROUP.commands if name not in ("sim", "tooltest")])
def test_every_commands_help_renders(floor: Floor, name: str) -> None:
    done = floor(name, "--help")
    assert (done.code, done.err) == (0, "")
    assert f"Usage: floor {name}" in done.out
    for param in GROUP.commands[name].params:
        assert param.name in ("box", "backend", "backends", "names", "path", "models") or param.opts[0] in done.out


def test_help_names_every_command_with_what_it_does(floor: Floor) -> None:
    done = floor("--help")
    assert done.code == 0
    assert all(f"\n  {name} " in done.out for name in GROUP.commands)


def test_the_simulated_engine_has_a_help_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sim", "--help"]) == 0
    assert "serve" in capsys.readouterr().out


def test_the_version(floor: Floor) -> None:
    assert floor("--version").out.strip() == __version__


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["deploy", "--bogus"], "No such option: --bogus"),
        (["mars"], "No such command 'mars'"),
        (["drain"], "Missing argument 'backend'"),
        (["logs", "-n", "0"], "Invalid value for '--lines'"),
        (["restart", "--mode", "replicas"], "No such option"),
    ],
)
def test_wrong_words_end_with_2(floor: Floor, words: list[str], told: str) -> None:
    done = floor(*words)
    assert (done.code, done.out) == (2, "")
    assert told in done.err


def test_without_words_there_is_help(floor: Floor) -> None:
    done = floor()
    assert "Usage: floor" in done.out + done.err


def test_wrong_words_of_health_are_unknown_to_a_monitoring_system(floor: Floor) -> None:
    assert floor("health", "--bogus").code == 3


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (FloorError("what"), 1),
        (BoxError("what"), 1),
        (UsageError("what"), 2),
        (ConfigError(["what"]), 2),
        (BusyError("what"), 4),
        (RefusedError("what"), 5),
    ],
)
def test_an_error_is_told_on_stderr_and_has_its_code(
    floor: Floor, raising: Callable[[BaseException], None], error: FloorError, code: int
) -> None:
    raising(error)
    done = floor("status")
    assert (done.code, done.out, done.err) == (code, "", "error: what\n")


def test_an_error_of_health_is_unknown(floor: Floor, raising: Callable[[BaseException], None]) -> None:
    raising(BoxError("no box answers"))
    done = floor("health")
    assert (done.code, done.out, done.err) == (3, "", "UNKNOWN no box answers\n")


def test_ctrl_c(floor: Floor, raising: Callable[[BaseException], None]) -> None:
    raising(KeyboardInterrupt())
    done = floor("status")
    assert done.code == 130
    assert done.err.strip() == "interrupted; the same command goes on where this one stopped"


def test_a_defect_is_told_without_a_traceback(floor: Floor, raising: Callable[[BaseException], None]) -> None:
    raising(ZeroDivisionError("division by zero"))
    done = floor("status")
    assert done.code == 1
    assert done.err.startswith("error: this is a defect of floor: ZeroDivisionError: division by zero\n")
    assert "Traceback" not in done.err


def test_a_defect_with_all_that_is_known(
    floor: Floor, raising: Callable[[BaseException], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLOOR_DEBUG", "1")
    raising(ZeroDivisionError("division by zero"))
    with pytest.raises(ZeroDivisionError):
        floor("status")


def test_a_file_that_is_not_there(floor: Floor) -> None:
    done = floor("check", "--config", "none.yaml")
    assert done.code == 2
    assert done.err == "error: none.yaml: found no such file; write one, or let `floor init` do it\n"


def test_a_reader_that_leaves(tmp_path: Path) -> None:
    """`floor schema | head -1`: no traceback, and nothing at the interpreter's end either."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-I", "-m", "floor", "schema"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False, cwd=tmp_path)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


def command(tmp_path: Path, *words: str, **changes: Any) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "floor", *words]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "check": False, **changes}
    return subprocess.run(line, cwd=tmp_path, **options)


def test_a_full_disk_is_no_defect(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = command(tmp_path, "schema", stdout=full)
    told = (
        "error: where the output goes: cannot be written: No space left on device; make room there and run it again\n"
    )
    assert (done.returncode, done.stderr) == (1, told)


def test_a_terminal_that_knows_ascii_only(tmp_path: Path) -> None:
    done = command(tmp_path, "sim", "--help", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, "")
    assert "--sim-\\u2026" in done.stdout


def test_ctrl_c_before_anything_is_loaded(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    class Interrupted:
        def find_spec(self, name: str, *_given: object) -> None:
            if name == "floor.cli.app":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "floor.cli.app")
    monkeypatch.setattr(sys, "meta_path", [Interrupted(), *sys.meta_path])
    assert run(["status"]) == 130
    assert capsys.readouterr().err == "interrupted; the same command goes on where this one stopped\n"


def test_init_writes_one_file(floor: Floor) -> None:
    done = floor("init", "a.yaml", "b.yaml")
    assert done.code == 2
    assert done.err == "error: found 2 files to write; name one, or add --adopt where these are machines\n"
