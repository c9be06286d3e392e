"""Logs as they come, and the one chat through the proxy."""

from __future__ import annotations

import io
import json
import os
import threading
import time
from pathlib import Path

import httpx
import pytest

from floor.agent import __main__ as agent
from floor.agent.call import Call, Stream
from floor.agent.calls import verify
from floor.agent.calls.logs import argv, logs
from floor.agent.params import Params
from floor.errors import UsageError

from .conftest import Box

BASE = ["journalctl", "--no-pager", "--quiet", "--output=short-iso"]


def test_the_journal_is_asked_for_floors_units() -> None:
    params = {"units": ["floor-pool.service", "floor-copy-m.service"], "lines": 20, "since": "-1h", "follow": True}
    words = ["--unit=floor-pool.service", "--unit=floor-copy-m.service", "--lines=20", "--since=-1h", "--follow"]
    assert argv(Call(Params("logs", params))) == [*BASE, *words]
    assert argv(Call(Params("logs", {"units": ["floor.target"]}))) == [*BASE, "--unit=floor.target"]


@pytest.mark.parametrize("unit", ["ssh.service", "--system", "floor-x", "*"])
def test_no_other_journal_is_read(unit: str) -> None:
    with pytest.raises(UsageError, match="must be floor's"):
        logs(Call(Params("logs", {"units": [unit]})))


def test_following_is_kept_with_the_stream() -> None:
    assert logs(Call(Params("logs", {"units": ["floor.target"], "follow": True}))).follow is True
    assert logs(Call(Params("logs", {"units": ["floor.target"]}))).follow is False


def test_a_stream_comes_after_its_answer_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent, "find", lambda _name: lambda _call: Stream(["echo", "one line"], follow=False))
    out = tmp_path / "out"
    with out.open("wb") as stdout:
        assert agent.main([], io.BytesIO(b'{"call": "logs"}\n'), stdout) == 0
    assert out.read_text().splitlines() == ['@floor {"ok": {}, "release": null}', "one line"]


def test_a_followed_stream_ends_when_the_caller_has_gone(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    done = threading.Event()

    def pump() -> None:
        with os.fdopen(reading, "rb", buffering=0) as stdin, (tmp_path / "out").open("wb") as stdout:
            Stream(["sleep", "60"], follow=True).pump(stdin, stdout)
        done.set()

    threading.Thread(target=pump, daemon=True).start()
    assert not done.wait(0.3)
    os.close(writing)
    assert done.wait(5)


def test_a_followed_stream_ends_with_its_program(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    began = time.monotonic()
    with os.fdopen(reading, "rb", buffering=0) as stdin, (tmp_path / "out").open("wb") as stdout:
        Stream(["true"], follow=True).pump(stdin, stdout)
    os.close(writing)
    assert time.monotonic() - began < 5


def event(text: str, key: str = "content") -> str:
    return f"data: {json.dumps({'choices': [{'delta': {key: text}}]})}\n\n"


@pytest.mark.parametrize("key", ["content", "reasoning_content", "reasoning"])
def test_a_streamed_answer_is_counted_by_what_has_text(key: str) -> None:
    raw = (
        event("") + event("Hel", key) + ": comment\n\n" + event("lo", key) + 'data: {"choices": []}\n\ndata: [DONE]\n\n'
    )
    assert verify.read(raw.encode(), stream=True) == {"events": 2, "text": "Hello", "error": None}


def test_a_stream_that_was_cut_off_is_an_error() -> None:
    assert verify.read(event("Hel").encode(), stream=True)["error"] == "the stream ended without data: [DONE]"


def test_a_whole_answer_is_one_event() -> None:
    raw = json.dumps({"choices": [{"message": {"content": "Hello"}}]}).encode()
    assert verify.read(raw, stream=False) == {"events": 1, "text": "Hello", "error": None}


@pytest.mark.parametrize("raw", [b"", b"<html>502</html>", b"{}", b'{"choices": []}', b"[]", b"\xff\xfe", b"null"])
def test_what_is_no_answer_is_repeated_in_part(raw: bytes) -> None:
    found = verify.read(raw, stream=False)
    assert found["events"] == 0
    assert found["error"].startswith("not an answer of the OpenAI API: ")


@pytest.mark.parametrize(
    "raw", [b"data: {\n\n", b'data: {"choices": [1]}\n\ndata: [DONE]\n\n', b"data: 7\n\n", b"data: \xff\n\n"]
)
def test_a_stream_that_is_none_is_repeated_in_part(raw: bytes) -> None:
    assert verify.read(raw, stream=True)["error"].startswith("not an answer of the OpenAI API: ")


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> list[httpx.Request]:
    """A proxy on no network: it keeps what it was sent, and answers a stream."""
    seen: list[httpx.Request] = []
    real = httpx.Client

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        if request.url.port == 1:
            raise httpx.ConnectError("[Errno 111] Connection refused")
        return httpx.Response(200, text=event("Hi") + "data: [DONE]\n\n")

    monkeypatch.setattr(httpx, "Client", lambda **more: real(**more, transport=httpx.MockTransport(answer)))
    return seen


def test_a_chat_goes_through_the_proxys_port(free: Box, proxy: list[httpx.Request]) -> None:
    found = free.call("verify.chat", port=8080, model="flagship", stream=True)
    assert str(proxy[0].url) == "http://127.0.0.1:8080/v1/chat/completions"
    body = json.loads(proxy[0].content)
    assert (body["model"], body["stream"], body["temperature"]) == ("flagship", True, 0)
    assert (found["status"], found["events"], found["text"], found["error"]) == (200, 1, "Hi", None)
    assert found["first_byte"] is not None


def test_a_proxy_that_is_not_there_is_told_not_raised(free: Box, proxy: list[httpx.Request]) -> None:
    found = free.call("verify.chat", port=1, model="flagship", stream=False)
    assert (found["status"], found["error"]) == (None, "ConnectError: [Errno 111] Connection refused")
