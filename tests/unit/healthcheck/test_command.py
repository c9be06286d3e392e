"""`python -m floor.healthcheck`: the line, the JSON, the exit code, and every way to write it wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from floor.healthcheck import command
from floor.healthcheck.command import main

URL = "http://192.0.2.11:8000"


@pytest.fixture(autouse=True)
def _scripted(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command asks the scripted engine; no key comes from the developer's environment."""
    monkeypatch.setattr(command, "make_client", engine.client)
    monkeypatch.delenv("FLOOR_ENGINE_KEY", raising=False)


def test_a_healthy_engine(engine: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Without --model the only listed one is meant."""
    assert main([URL]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"OK flagship at {URL}: generates, 1 token in ")
    assert out.endswith("s (running 0, waiting 0)\n")
    assert out.count("\n") == 1


def test_json(engine: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([URL + "/v1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["backend"] == "flagship"
    assert found["url"] == URL
    assert (found["state"], found["level"], found["reason"]) == ("OK", 3, "ok")
    assert list(found) == [
        "backend", "url", "state", "level", "reason", "evidence", "latency", "running", "waiting", "healthy",
        "restartable",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        (dict.fromkeys(("health", "models", "metrics"), httpx.ConnectTimeout("")), 2,
         "CRITICAL engine at {url}: unreachable: GET /health: no connection: timed out"),
        ({"models": 401}, 3, "UNKNOWN engine at {url}: auth required: GET /v1/models answered 401; auth required: set"),
        ({"health": 503, "models": 503}, 1, "WARNING engine at {url}: loading: GET /health answered 503"),
        ({"generation": 500}, 2, "CRITICAL flagship at {url}: server error: POST /v1/chat/completions answered 500"),
    ],
)  # fmt: skip
def test_exit_codes(
    engine: Any, capsys: pytest.CaptureFixture[str], change: dict[str, Any], code: int, words: str
) -> None:
    for name, value in change.items():
        setattr(engine, name, value)
    assert main([URL]) == code
    assert capsys.readouterr().out.startswith(words.format(url=URL))


def test_another_model_is_served(engine: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([URL, "--model", "small"]) == 2
    expected = (
        f"CRITICAL small at {URL}: wrong model: GET /v1/models lists flagship, not small (running 0, waiting 0)\n"
    )
    assert capsys.readouterr().out == expected


def test_a_model_with_and_without_its_tag_is_one(engine: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Ollama's names."""
    engine.models = ("flagship", "flagship:latest")
    assert main([URL]) == 0
    assert capsys.readouterr().out.startswith(f"OK flagship at {URL}")


def test_several_models_are_a_question(engine: Any, capsys: pytest.CaptureFixture[str]) -> None:
    engine.models = ("flagship", "small")
    assert main([URL]) == 3
    assert capsys.readouterr().out == f"UNKNOWN {URL} lists flagship, small; choose one with --model\n"


def test_no_model_is_a_question(engine: Any, capsys: pytest.CaptureFixture[str]) -> None:
    engine.models = ()
    assert main([URL]) == 3
    assert capsys.readouterr().out == f"UNKNOWN {URL} lists no model; name the one it should serve with --model\n"


def test_the_key_comes_from_a_file(engine: Any, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("sk-file\n")
    assert main([URL, "--key-file", str(tmp_path / "key")]) == 0
    assert {r.headers["authorization"] for r in engine.asked} == {"Bearer sk-file"}


def test_the_key_comes_from_the_environment(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOOR_ENGINE_KEY", "sk-env")
    assert main([URL]) == 0
    assert {r.headers["authorization"] for r in engine.asked} == {"Bearer sk-env"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read (No such file or directory)"),
        (b"", "is empty; it must hold the engine key"),
        (b"\xff\xfe\x00", "not one line of ASCII text; it must hold the engine key alone"),
    ],
)
def test_key_files_that_hold_no_key(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: bytes | None, message: str
) -> None:
    path = tmp_path / "key"
    if content is not None:
        path.write_bytes(content)
    assert main([URL, "--key-file", str(path)]) == 3
    assert capsys.readouterr().out == f"UNKNOWN --key-file {path}: {message}\n"


def test_a_key_file_of_two_lines(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Nothing of it is printed."""
    path = tmp_path / "key"
    path.write_text("sk-one\nsk-two\n")
    assert main([URL, "--key-file", str(path)]) == 3
    message = "UNKNOWN engine: the engine key must be one line of ASCII characters without spaces around it\n"
    assert capsys.readouterr().out == message


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "the following arguments are required: URL"),
        ([URL, "--timeout", "x"], "argument --timeout: x: write a number of seconds above 0"),
        ([URL, "--timeout", "0"], "argument --timeout: 0: write a number of seconds above 0"),
        ([URL, "--timeout", "inf"], "argument --timeout: inf: write a number of seconds above 0"),
        ([URL, "--stall=-1"], "argument --stall: -1: write a number of seconds above 0"),
        ([URL, "--min-speed", "fast"], "argument --min-speed: invalid float value: 'fast'"),
        ([URL, "--key", "sk-x"], "unrecognized arguments: --key sk-x"),
        ([URL, "another"], "unrecognized arguments: another"),
    ],
)
def test_usage_errors_are_unknown_and_not_critical(
    capsys: pytest.CaptureFixture[str], argv: list[str], message: str
) -> None:
    """argparse ends with 2 by itself, which a monitoring system reads as critical."""
    assert main(argv) == 3
    assert capsys.readouterr().err.splitlines()[-1] == f"python -m floor.healthcheck: {message}"


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["flagship"], "'flagship': not an engine's address; write http://HOST:PORT"),
        ([URL, "--dialect", "tgi"], "unknown dialect 'tgi'; known: llamacpp, ollama, vllm"),
        ([URL, "--min-speed", "nan"], "engine: min_speed is nan; write a number above 0"),
    ],
)
def test_what_cannot_be_meant(capsys: pytest.CaptureFixture[str], argv: list[str], message: str) -> None:
    assert main(argv) == 3
    assert capsys.readouterr().out == f"UNKNOWN {message}\n"


def test_an_error_is_json_too_where_json_was_asked_for(engine: Any, capsys: pytest.CaptureFixture[str]) -> None:
    engine.models = ("flagship", "small")
    assert main([URL, "--json"]) == 3
    expected = {"url": URL, "state": "UNKNOWN", "error": f"{URL} lists flagship, small; choose one with --model"}
    assert json.loads(capsys.readouterr().out) == expected


def test_help_tells_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert "0 ok, 1 warning" in out
    assert "FLOOR_ENGINE_KEY" in out


def test_interrupted(engine: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt() -> httpx.AsyncClient:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "make_client", interrupt)
    assert main([URL]) == 3
    assert capsys.readouterr().out == "UNKNOWN interrupted\n"


def test_a_minimum_speed(engine: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Scripted answers take no real time, so any minimum is met."""
    engine.generation = lambda r: {"usage": {"completion_tokens": json.loads(r.content)["max_tokens"]}}
    assert main([URL, "--min-speed", "5", "--stall", "60"]) == 0
