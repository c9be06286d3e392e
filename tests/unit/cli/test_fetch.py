"""`floor fetch` as a person sees it: what it prints, where, and what it ends with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from floor.__main__ import run
from floor.apply.transport import Transport, UnreachableError
from floor.box import hub as api
from floor.operations import fetch_run
from floor.operations.fetch_run import Fetched

NOW = "c" * 40
TEXT = """\
boxes:
  spark-a: {host: 192.0.2.11}
models:
  flagship:
    source: /models/flagship
    fetch: {repo: org/flagship, revision: REVISION}
    utilization: 0.4
    runtime: {kind: native, command: /opt/vllm/bin/vllm}
    replicas: [spark-a]
proxy: {boxes: [spark-a]}
"""
ABOUT = {"repo": "org/flagship", "revision": NOW, "models": ["flagship"], "folders": {}, "size": 1}
WHOLE = {**ABOUT, "boxes": {"spark-a": "d" * 64, "spark-b": "d" * 64}}
IMAGE = {"image": "vllm:v1", "models": ["flagship"], "boxes": {"spark-a": f"sha256:{'1' * 64}"}}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setenv("HF_ENDPOINT", "https://hub.example")
    (tmp_path / "floor.yaml").write_text(TEXT.replace("REVISION", NOW))
    return tmp_path / "floor.yaml"


def comes(monkeypatch: pytest.MonkeyPatch, outcome: Fetched | BaseException) -> list[Any]:
    """What the operation returns or raises; what it was given is in the list."""
    given: list[Any] = []

    def fetch(*args: Any, **named: Any) -> Fetched:
        given.append((args[2], args[3], named))
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    monkeypatch.setattr(fetch_run, "fetch", fetch)
    return given


def test_it_ends_with_what_the_boxes_hold(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    given = comes(monkeypatch, Fetched([WHOLE], [IMAGE], changed=True))
    assert run(["fetch", "flagship", "--box", "spark-a", "--box", "spark-b", "--check"]) == 0
    assert given == [(["flagship"], ["spark-a", "spark-b"], {"dry_run": False, "check": True})]
    assert capsys.readouterr().out.splitlines() == [
        "the same on spark-a, spark-b: org/flagship at cccccccccccc, manifest dddddddddddd",
        "the same on spark-a: vllm:v1, sha256:111111111111",
    ]


def test_nothing_to_do_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    comes(monkeypatch, Fetched([WHOLE]))
    assert run(["fetch"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "nothing to do"
    comes(monkeypatch, Fetched())
    assert run(["fetch"]) == 0
    assert capsys.readouterr().out == "nothing to fetch: no model has `fetch` or an image in floor.yaml\n"


def test_a_dry_run_ends_with_3_where_something_lacks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    comes(monkeypatch, Fetched([WHOLE], pending=["spark-a: fetch it"]))
    assert run(["fetch", "--dry-run"]) == 3
    assert capsys.readouterr().out == "spark-a: fetch it\n"
    comes(monkeypatch, Fetched([WHOLE]))
    assert run(["fetch", "--dry-run"]) == 0
    assert capsys.readouterr().out == "nothing to do\n"


def test_all_that_failed_is_told_last(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    comes(monkeypatch, Fetched([WHOLE], failed=["spark-a: no", "spark-b: neither"], complete=False))
    assert run(["fetch"]) == 1
    assert capsys.readouterr().err == "error: not everything was fetched:\n  spark-a: no\n  spark-b: neither\n"


def test_json_is_one_object(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    comes(monkeypatch, Fetched([WHOLE], [IMAGE], changed=True))
    assert run(["fetch", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert list(told) == ["weights", "images", "pending", "failed", "complete", "changed"]


def test_ctrl_c_says_that_the_boxes_go_on(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    comes(monkeypatch, KeyboardInterrupt())
    assert run(["fetch"]) == 130
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "the boxes go on with what they fetch now; `floor fetch --stop` ends that"


def test_a_branch_is_refused_with_the_commit_and_pinned(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], place: Path
) -> None:
    place.write_text(TEXT.replace("REVISION", "main"))
    monkeypatch.setattr(api, "listing", lambda *_given: api.Listing(NOW, ()))
    assert run(["fetch"]) == 2
    assert f'found main, which may be other weights tomorrow; write "{NOW}"' in capsys.readouterr().err
    assert run(["fetch", "--pin", "--dry-run"]) == 3
    assert "main" in place.read_text()
    assert run(["fetch", "--pin"]) == 0
    assert f"+    fetch: {{repo: org/flagship, revision: {NOW}}}" in capsys.readouterr().out
    assert run(["fetch", "--pin"]) == 0
    assert capsys.readouterr().out == "every revision is a commit already\n"


def test_a_file_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fetch", "--pin", "--config", "other.yaml"]) == 2
    assert capsys.readouterr().err == "error: other.yaml: found no such file; write one, or let `floor init` do it\n"


@pytest.mark.parametrize("words", ["--stop --dry-run", "--stop --json", "--stop --pin", "--pin --check"])
def test_words_that_do_not_go_together(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fetch", *words.split()]) == 2
    assert f"error: {words.split()[0]}: " in capsys.readouterr().err


def test_stop_reaches_the_others_where_one_box_does_not_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], place: Path
) -> None:
    two = TEXT.replace("replicas: [spark-a]", "replicas: [spark-a, spark-b]").replace("REVISION", NOW)
    place.write_text(two.replace("models:", "  spark-b: {host: 192.0.2.12}\nmodels:"))

    def call(line: Transport, _name: str, *_: Any, **__: Any) -> Any:
        if line.box == "spark-a":
            raise UnreachableError("spark-a: no way there")
        return {"stopped": True}

    monkeypatch.setattr(Transport, "call", call)
    assert run(["fetch", "--stop"]) == 1
    told = capsys.readouterr()
    assert told.out == "spark-b: stopped; `floor fetch` goes on from what has come\n"
    assert told.err == "error: what these boxes fetch may go on:\n  spark-a: no way there\n"


def test_an_endpoint_that_is_none(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "hub")
    assert run(["fetch"]) == 2
    assert capsys.readouterr().err.startswith("error: HF_ENDPOINT: found 'hub'")
