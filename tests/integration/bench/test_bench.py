"""`floor bench` against a simulated engine whose speed by requests at once is known."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from floor.cli.app import app
from floor.sim.process import SimulatedEngine


def bench(folder: Path, engine: SimulatedEngine, *words: str, code: int = 0) -> str:
    requests = folder / "requests.jsonl"
    body = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 40, "ignore_eos": True}
    requests.write_text(json.dumps(body) + "\n")
    where = ["--url", engine.url, "--traffic", str(requests), "--out", str(folder / "run.json")]
    found = CliRunner().invoke(app, ["bench", "flagship", *where, *words])
    assert found.exit_code == code, (found.output, found.exception)
    return found.stdout


@pytest.fixture
def engine() -> SimulatedEngine:
    return SimulatedEngine("flagship", max_requests=8, context=4096, speed_factor=4)


def test_a_curve_is_measured_and_gone_on_with(tmp_path: Path, engine: SimulatedEngine) -> None:
    """More at once gives more, by the engine's own curve; a second run measures only what is new."""
    with engine:
        found = json.loads(bench(tmp_path, engine, "--levels", "1,4", "--seconds", "2", "--json"))
        one, four = found["levels"]
        print(f"1 at once {one['tokens_per_second']} tok/s, 4 at once {four['tokens_per_second']} tok/s")
        assert (one["errors"], four["errors"]) == (0, 0)
        assert four["tokens_per_second"] > 1.3 * one["tokens_per_second"] > 0
        assert one["first_token"]["p50"] > 0
        assert found["advice"]["at"] == 4
        more = json.loads(bench(tmp_path, engine, "--levels", "1,4,8", "--seconds", "2", "--json"))
        assert more["levels"][:2] == found["levels"]
        assert [level["at"] for level in more["levels"]] == [1, 4, 8]


def test_an_open_loop(tmp_path: Path, engine: SimulatedEngine) -> None:
    with engine:
        found = json.loads(bench(tmp_path, engine, "--levels", "4", "--seconds", "2", "--open", "--json"))
    assert found["loop"] == "open"
    assert found["levels"][0]["requests"] > 2
    assert found["levels"][0]["errors"] == 0


def test_nobody_answers(tmp_path: Path, engine: SimulatedEngine) -> None:
    """It ends by itself, with the reason."""
    requests = tmp_path / "r.jsonl"
    requests.write_text('{"prompt": "a"}\n')
    where = ["--url", engine.url, "--traffic", str(requests), "--out", str(tmp_path / "run.json")]
    found = CliRunner().invoke(app, ["bench", "flagship", *where, "--levels", "1,2", "--seconds", "1"])
    assert found.exit_code == 1
    assert "no request got an answer: ConnectError" in str(found.exception)
