"""Waiting for an engine and warming it up: what is said on the way, what ends it, what is sent."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from floor.agent.warm import Main, load, on_card
from floor.agent.warm_up import LONG_MOST, LONG_UNKNOWN, Engine, long_length, long_request, warm_up
from floor.agent.warm_wait import HOPELESS, TELL_EVERY, Progress, until_it_generates
from floor.errors import FloorError
from floor.healthcheck.client import make_client
from floor.healthcheck.load import Load
from floor.healthcheck.sample import Answer, Sample
from floor.healthcheck.target import Target
from floor.healthcheck.verdict import Level, Reason, Verdict
from floor.tooltest import warmup

TARGET = Target("flagship@a", "http://192.0.2.11:8000", "flagship", key="secret")
SETTINGS = {
    "backend": "flagship@a",
    "url": "http://192.0.2.11:8000",
    "model": "flagship",
    "dialect": "vllm",
    "key_file": None,
    "start_time": 600,
    "context": None,
    "stall": 300,
    "min_speed": None,
}


def verdict(reason: Reason, evidence: str = "it was seen") -> Verdict:
    return Verdict("flagship@a", TARGET.url, Level.DOWN, reason, evidence, None, None, None, 0.0)


class TestProgress:
    def setup_method(self) -> None:
        self.log: list[str] = []
        self.progress = Progress("flagship@a", 100.0, self.log.append)

    def test_a_change_is_told_at_once_and_the_same_now_and_then(self) -> None:
        for at in range(100, 100 + int(2 * TELL_EVERY) + 1):
            self.progress.take(verdict(Reason.REFUSED, "connection refused"), float(at))
        self.progress.take(verdict(Reason.LOADING, "503"), 131.0)
        assert self.log == [
            "flagship@a: waiting for engine: refused, 0 s; connection refused",
            "flagship@a: waiting for engine: refused, 15 s; connection refused",
            "flagship@a: waiting for engine: refused, 30 s; connection refused",
            "flagship@a: waiting for engine: loading, 31 s; 503",
        ]

    @pytest.mark.parametrize(("reason", "limit"), HOPELESS.items())
    def test_what_no_waiting_mends_ends_it_when_it_lasts(self, reason: Reason, limit: float) -> None:
        self.progress.take(verdict(reason), 110.0)
        self.progress.take(verdict(reason), 110.0 + limit - 1)
        with pytest.raises(FloorError, match=rf"^flagship@a: {reason}: it was seen; \w"):
            self.progress.take(verdict(reason), 110.0 + limit)

    def test_a_moment_of_it_does_not(self) -> None:
        for at in range(100, 400, 5):
            reason = Reason.WRONG_MODEL if at % 10 else Reason.LOADING
            self.progress.take(verdict(reason), float(at))


class FakeEngine:
    """Answers by script: a path's status and body; remembers what it was sent."""

    def __init__(self, **answers: tuple[int, Any]) -> None:
        self.answers = answers
        self.sent: list[tuple[str, dict[str, Any]]] = []
        self.keys: set[str | None] = set()
        self.refusals = 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.keys.add(request.headers.get("authorization"))
        if self.refusals > 0:
            self.refusals -= 1
            raise httpx.ConnectError("refused", request=request) from ConnectionRefusedError()
        if request.url.path == "/v1/models":
            return httpx.Response(200, json={"data": [{"id": "flagship", "max_model_len": 8192}]})
        if request.method == "GET":
            return httpx.Response(200, text="vllm:num_requests_running 0\nvllm:num_requests_waiting 0\n")
        body = json.loads(request.content)
        self.sent.append((request.url.path, body))
        kind = "tool" if "tools" in body else "long" if len(body.get("prompt", ())) > 8 else "short"
        status, content = self.answers.get(kind, (200, {"usage": {"completion_tokens": 1}}))
        return (
            httpx.Response(status, json=content)
            if not isinstance(content, str)
            else httpx.Response(status, text=content)
        )


def with_engine(engine: FakeEngine, what: Callable[[httpx.AsyncClient], Any]) -> Any:
    async def run() -> Any:
        async with make_client(httpx.MockTransport(engine)) as client:
            return await what(client)

    return asyncio.run(run())


def warm(engine: FakeEngine, context: int | None = None) -> list[str]:
    log: list[str] = []
    with_engine(engine, lambda client: warm_up(Engine(client, TARGET, context), lambda: 1.0, log.append))
    return log


def test_a_warm_up_is_a_short_a_long_and_a_tool_call() -> None:
    engine = FakeEngine()
    assert warm(engine, 32768) == [
        "flagship@a: warm-up: a short prompt took 0.0 s",
        "flagship@a: warm-up: a prompt of 16384 tokens took 0.0 s",
        "flagship@a: warm-up: a tool call took 0.0 s",
    ]
    assert [path for path, _ in engine.sent] == ["/v1/chat/completions", "/v1/completions", "/v1/chat/completions"]
    assert len(engine.sent[1][1]["prompt"]) == 16384
    assert engine.sent[2][1] == warmup.request("flagship")
    assert engine.keys == {"Bearer secret"}


def test_an_unknown_context_is_asked_for() -> None:
    engine = FakeEngine()
    warm(engine)
    assert len(engine.sent[1][1]["prompt"]) == 4096


@pytest.mark.parametrize(
    ("context", "length"), [(None, LONG_UNKNOWN), (2048, 1024), (262144, LONG_MOST), (2, 1), (1, 1)]
)
def test_the_long_prompt_is_half_the_context_within_bounds(context: int | None, length: int) -> None:
    assert long_length(context) == length
    prompt = long_request(TARGET, length)["prompt"]
    assert len(prompt) == length
    assert all(10 <= token < 210 for token in prompt), "in every vocabulary"


def test_a_tool_call_that_fails_is_a_warning() -> None:
    error = {"error": {"message": '"auto" tool choice requires --enable-auto-tool-choice'}}
    assert warm(FakeEngine(tool=(400, error)), 100)[-1] == (
        'flagship@a: warm-up: warning: a tool call failed, 400: "auto" tool choice requires --enable-auto-tool-choice'
    )


def test_a_long_prompt_that_is_refused_is_a_warning_and_one_that_breaks_the_engine_is_an_error() -> None:
    assert (
        "warning: a prompt of 50 tokens was refused, 400: too long"
        in warm(FakeEngine(long=(400, {"error": "too long"})), 100)[1]
    )
    with pytest.raises(
        FloorError, match=r"^flagship@a: the long warm-up request failed, 500: no kernel; the engine's log"
    ):
        warm(FakeEngine(long=(500, {"error": {"message": "no kernel"}})), 100)


def test_a_short_prompt_that_fails_is_an_error() -> None:
    with pytest.raises(
        FloorError, match=r"^flagship@a: the short warm-up request failed, 500: <html>; the engine's log"
    ):
        warm(FakeEngine(short=(500, "<html>")), 100)


def test_a_model_without_a_chat_template_is_warmed_by_completions() -> None:
    engine = FakeEngine()

    def answer(request: httpx.Request) -> httpx.Response:
        found = engine(request)
        return httpx.Response(400, json={}) if request.url.path == "/v1/chat/completions" else found

    log: list[str] = []
    with_engine(answer, lambda client: warm_up(Engine(client, TARGET, 100), lambda: 1.0, log.append))  # type: ignore[arg-type]
    assert [path for path, _ in engine.sent][:2] == ["/v1/chat/completions", "/v1/completions"]
    assert "a short prompt took" in log[0]


def test_no_answer_at_all_is_said() -> None:
    engine = FakeEngine()
    engine.refusals = 1
    with pytest.raises(FloorError, match=r"^flagship@a: no answer to a warm-up request \(refused\); the engine's log"):
        warm(engine, 100)


def test_waiting_ends_with_the_first_token() -> None:
    engine, log, pauses = FakeEngine(), list[str](), list[float]()
    engine.refusals = 9  # three looks

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    with_engine(engine, lambda client: until_it_generates(client, TARGET, lambda: 1.0, pause, log.append))
    assert log == ["flagship@a: waiting for engine: refused, 0 s; GET /health: connection refused"]
    assert len(pauses) == 3
    assert [path for path, _ in engine.sent] == ["/v1/chat/completions"]


class TestMain:
    def process(self, proc: Path, state: str = "S", started: int = 5) -> None:
        (proc / "7").mkdir(exist_ok=True)
        (proc / "7/stat").write_text(f"7 (v (x)) {state} " + "0 " * 18 + f"{started} 0\n")

    def test_it_lives_until_it_is_gone(self, tmp_path: Path) -> None:
        self.process(tmp_path)
        main = Main({"MAINPID": "7"}, tmp_path)
        assert main.alive()
        (tmp_path / "7/stat").unlink()
        assert not main.alive()

    @pytest.mark.parametrize(
        ("state", "started"), [("Z", 5), ("X", 5), ("S", 6)], ids=["zombie", "dead", "another one"]
    )
    def test_what_is_there_instead_is_not_it(self, state: str, started: int, tmp_path: Path) -> None:
        self.process(tmp_path)
        main = Main({"MAINPID": "7"}, tmp_path)
        self.process(tmp_path, state, started)
        assert not main.alive()

    def test_it_was_gone_before_the_first_look(self, tmp_path: Path) -> None:
        assert not Main({"MAINPID": "7"}, tmp_path).alive()

    @pytest.mark.parametrize("environ", [{}, {"MAINPID": ""}, {"MAINPID": "0"}, {"MAINPID": "x"}])
    def test_without_one_it_counts_as_alive(self, environ: dict[str, str]) -> None:
        assert Main(environ).alive()

    def test_work_ends_with_it(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("floor.agent.warm.ALIVE_EVERY", 0.001)
        with pytest.raises(
            FloorError, match=r"^the engine \(process 7\) ended while it was waited for; its log says why$"
        ):
            asyncio.run(Main({"MAINPID": "7"}, tmp_path).outlives(asyncio.sleep(60)))

    def test_work_that_is_done_returns(self) -> None:
        async def work() -> int:
            return 3

        assert asyncio.run(Main({"MAINPID": str(os.getpid())}).outlives(work())) == 3


class TestSettings:
    def write(self, folder: Path, **other: Any) -> Path:
        path = folder / "flagship.json"
        path.write_text(json.dumps(SETTINGS | other))
        return path

    def test_a_tenth_of_a_short_start_time_is_left_to_systemd(self, tmp_path: Path) -> None:
        assert load(self.write(tmp_path)).deadline == 570
        assert load(self.write(tmp_path, start_time=100)).deadline == 90

    def test_the_key_is_read(self, tmp_path: Path) -> None:
        (tmp_path / "k").write_text("secret\n")
        read = load(self.write(tmp_path, key_file="/k", context=4096, min_speed=3.5), tmp_path)
        assert (read.target.key, read.context, read.target.min_speed) == ("secret", 4096, 3.5)
        assert "secret" not in repr(read)

    def test_a_missing_key_is_said(self, tmp_path: Path) -> None:
        with pytest.raises(FloorError, match=r"nokey: the engine key cannot be read .*; `floor deploy` makes it"):
            load(self.write(tmp_path, key_file="/nokey"), tmp_path)

    @pytest.mark.parametrize("key", [key for key in SETTINGS if SETTINGS[key] is not None])
    def test_what_is_missing_is_said(self, key: str, tmp_path: Path) -> None:
        with pytest.raises(FloorError, match=rf"flagship\.json: {key}: found None, expected "):
            load(self.write(tmp_path, **{key: None}))


def embedding(target: Target, answer: Callable[[httpx.Request], httpx.Response]) -> list[str]:
    log: list[str] = []
    with_engine(answer, lambda client: warm_up(Engine(client, target, 100), lambda: 1.0, log.append))  # type: ignore[arg-type]
    return log


def test_a_model_for_embeddings_is_warmed_by_a_short_and_a_long_text() -> None:
    sent: list[tuple[str, Any]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append((request.url.path, json.loads(request.content)["input"]))
        return httpx.Response(200, json={"data": [{"embedding": [0.1]}]})

    target = Target("flagship@a", "http://192.0.2.11:8000", "flagship", task="embed")
    assert embedding(target, answer) == [
        "flagship@a: warm-up: a short text took 0.0 s",
        "flagship@a: warm-up: a text of 50 tokens took 0.0 s",
    ]
    assert [path for path, _ in sent] == ["/v1/embeddings", "/v1/embeddings"]
    assert len(sent[1][1]) == 50


def test_a_model_that_only_orders_texts_is_asked_for_that() -> None:
    sent: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request.url.path)
        return httpx.Response(200 if "rerank" in request.url.path else 501, json={"results": [{"index": 0}]})

    target = Target("flagship@a", "http://192.0.2.11:8000", "flagship", dialect="llamacpp", task="embed")
    assert embedding(target, answer) == ["flagship@a: warm-up: a short text took 0.0 s"]
    assert sent == ["/v1/embeddings", "/v1/rerank"]


def test_a_model_that_does_not_embed_says_so() -> None:
    target = Target("flagship@a", "http://192.0.2.11:8000", "flagship", task="embed")
    with pytest.raises(
        FloorError, match=r"^flagship@a: the short warm-up request failed, 404: Not Found; the engine's"
    ):
        embedding(target, lambda _: httpx.Response(404, json={"error": "Not Found"}))


def test_ollama_gets_text_where_others_get_numbers() -> None:
    """It refuses a prompt of token numbers."""
    target = Target("flagship@a", "http://192.0.2.11:8000", "flagship", dialect="ollama")
    assert long_request(target, 3)["prompt"] == " a a a"


@pytest.mark.parametrize(("share", "fails"), [(0.0, True), (0.4, False), (None, False)])
def test_a_model_on_the_processor_of_a_box_with_a_card_is_not_warm(share: float | None, fails: bool) -> None:
    """O21: ollama#7669."""
    answered = Answer("GET /api/ps", 200, None, "", 0.01)
    sample = Sample(0.0, 0.0, answered, answered, answered, load=Load(resident=("flagship",), on_card=share))
    if fails:
        with pytest.raises(FloorError, match=r"^flagship@a: it runs on the processor, though this box has a card"):
            on_card("flagship@a", sample)
    else:
        on_card("flagship@a", sample)
