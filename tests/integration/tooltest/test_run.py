"""The tool test over HTTP against the simulated engine: a run, a gate, a fault, a run that was cut."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from floor.sim.process import SimulatedEngine, free_port
from floor.tooltest import command
from floor.tooltest.suite import book, read

MODEL = "flagship"


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("book") / "answers.json"
    path.write_text(book.text(read.suite()))
    return path


@pytest.fixture(scope="module")
def engine(answers: Path) -> Iterator[SimulatedEngine]:
    """An engine whose model does everything right, and quickly."""
    args = ["--enable-auto-tool-choice"]
    with SimulatedEngine(MODEL, context=131072, args=args, answers=answers, speed_factor=500, key="secret") as running:
        yield running


@pytest.fixture(autouse=True)
def without_faults(engine: SimulatedEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOOR_ENGINE_KEY", "secret")
    engine.clear()


def test(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    """The exit code of a command, and the JSON that it printed."""
    code = command.main([*words, "--json"])
    out = capsys.readouterr().out
    return code, json.loads(out) if out else {}


test.__test__ = False  # type: ignore[attr-defined]  # a verb here, not a test


@pytest.fixture(scope="module")
def baseline(engine: SimulatedEngine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("baseline") / "before.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FLOOR_ENGINE_KEY", "secret")
        assert command.main(["baseline", engine.url, "--tier", "quick", "--trials", "2", "--save", str(path)]) == 0
    return path


def test_a_perfect_model_scores_100_and_holds_the_contract(
    engine: SimulatedEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    code, found = test(capsys, "run", engine.url, "--tier", "quick")
    summary = found["summary"]
    assert (code, summary["behaviour"], summary["errors"]) == (0, 100, 0)
    assert not any(one["failed"] for one in summary["contract"].values())
    assert found["tested"] == {"model": MODEL, "context": 131072, "engine": "vllm", "version": "0.32.0"}
    assert len(found["trials"]) == 24
    assert summary["first_token"]["median"] > 0
    assert summary["first_tool_byte"]["median"] > 0
    assert found["probes"]["prompt"]["prompt_tokens"]["history"] > found["probes"]["prompt"]["prompt_tokens"]["words"]


def test_a_build_that_did_not_change_passes(
    engine: SimulatedEngine, baseline: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, found = test(capsys, "gate", engine.url, "--tier", "quick", "--baseline", str(baseline))
    assert (code, found["verdict"]["word"]) == (0, "PASS")


def test_a_build_with_a_fault_in_streams_is_blocked_with_its_name(
    engine: SimulatedEngine, baseline: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine.fault("tools", what="lost-brace", mode="streamed")
    code, found = test(capsys, "gate", engine.url, "--tier", "quick", "--baseline", str(baseline))
    assert (code, found["verdict"]["word"]) == (1, "BLOCK")
    failed = {name: one["failed"] for name, one in found["summary"]["contract"].items() if one["failed"]}
    assert failed.keys() == {"arguments-text"}
    assert {one["mode"] for one in found["trials"] if one["checks"].get("arguments-text")} == {"streamed"}


def test_an_endpoint_that_is_down_is_7(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["run", f"http://127.0.0.1:{free_port()}"]) == 7
    assert "does not answer" in capsys.readouterr().err


def test_a_wrong_key_is_7(
    engine: SimulatedEngine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("FLOOR_ENGINE_KEY")
    assert command.main(["run", engine.url]) == 7
    assert "wants a key (HTTP 401); give it with --key-file" in capsys.readouterr().err


def test_a_run_that_was_killed_goes_on_from_its_log(
    engine: SimulatedEngine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log"
    words = ["run", engine.url, "--tier", "quick", "--trials", "2", "--concurrency", "2", "--log", str(log)]
    process = subprocess.Popen([sys.executable, "-m", "floor.tooltest", *words], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert "of 48 trials" in process.stderr.readline()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    made = len(log.read_text().splitlines()) - 1
    before = engine.state()["paths"]["POST /v1/chat/completions"]
    code, found = test(capsys, *words)
    assert 4 <= made < 48
    assert (code, len(found["trials"]), found["summary"]["behaviour"]) == (0, 48, 100)
    assert engine.state()["paths"]["POST /v1/chat/completions"] - before < 150 - made
    assert command.main(words) == 2
    assert "is of a run that is over" in capsys.readouterr().err
