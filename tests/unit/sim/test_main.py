"""`floor sim` and `python -m floor.sim` up to the point where an engine would start."""

from __future__ import annotations

from pathlib import Path

import pytest

from floor import sim
from floor.errors import FloorError


def test_help_and_version_go_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert sim.run(["serve", "--help"]) == 0
    assert capsys.readouterr().out.startswith("usage: floor sim [serve] MODEL")
    assert sim.run(["--version"]) == 0
    assert capsys.readouterr().out == "0.32.0\n"


def test_a_wrong_command_line_ends_with_2_and_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert sim.run(["serve"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == "floor sim: no model: write `serve MODEL`, as for vLLM; any name will do\n"


def test_what_keeps_an_engine_from_starting_is_one_line_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(settings: object) -> int:
        raise FloorError("no port")

    monkeypatch.setattr("floor.sim.server.serve", fails)
    assert sim.run(["serve", "m"]) == 1
    assert capsys.readouterr().err == "floor sim: no port\n"


def test_the_settings_reach_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOOR_SIM_SEED", "7")
    monkeypatch.setattr("floor.sim.server.serve", lambda settings: settings.simulation.seed * 6)
    assert sim.run(["m"]) == 42


def test_check_reads_everything_opens_the_device_and_ends(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    given = ["check", "serve", "m", "--max-model-len", "8k"]
    assert sim.run([*given, "--sim-device-lock", str(tmp_path / "gpu")]) == 0
    assert capsys.readouterr().out == '@floor {"device": "cuda", "count": 1, "needs": 1}\n'
    assert sim.run([*given, "--sim-device-lock", str(tmp_path / "no" / "gpu")]) == 2
    assert "cannot be locked: No such file or directory" in capsys.readouterr().err
    assert sim.run([*given, "--sim-nope", "1"]) == 2
    assert "--sim-nope: no such simulation setting" in capsys.readouterr().err
