"""Which trials are made, how they are sent, and what a run that was cut goes on from. Transport and clock are given."""

from __future__ import annotations

import asyncio
import errno
import json
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest

from floor.errors import EndpointError, FloorError, UsageError
from floor.sim import faults
from floor.sim.tooling import Desk
from floor.tooltest.run import plan, probes, runner, session
from floor.tooltest.run.identity import identity
from floor.tooltest.run.log import Log
from floor.tooltest.run.plan import TIERS
from floor.tooltest.run.runner import MOST_UNANSWERED, Run
from floor.tooltest.run.send import Endpoint, make_client, send
from floor.tooltest.run.session import Options
from floor.tooltest.suite import read
from floor.tooltest.trial.record import STREAMED, WHOLE, Record
from floor.tooltest.wire.exchange import BROKEN, REFUSED, TIMED_OUT, Exchange
from tests.unit.tooltest.exchanges import asked, scenario, served, the_book

SUITE = read.suite()
ABOUT = {"seed": 0, "tier": "gate"}
Handler = Callable[[httpx.Request], httpx.Response]


def reply(status: int, content: bytes, kind: str = "application/json") -> httpx.Response:
    """An answer that comes as a real one does: to be read piece by piece."""
    return httpx.Response(status, stream=httpx.ByteStream(content), headers={"content-type": kind})


def ticking() -> Callable[[], float]:
    ticks = count()
    return lambda: float(next(ticks))


def test_the_tiers_are_as_large_as_they_say() -> None:
    sizes = {}
    for name, tier in TIERS.items():
        chosen = plan.scenarios(SUITE, tier.each)
        sizes[name] = len(plan.trials(SUITE, chosen, range(tier.trials), context=None, most=99))
    assert sizes == {"quick": 24, "gate": 180, "deep": 300}


def test_a_run_has_as_many_streamed_as_whole_trials() -> None:
    for tier in TIERS.values():
        made = plan.trials(SUITE, plan.scenarios(SUITE, tier.each), range(tier.trials), context=None, most=99)
        streamed = sum(one.mode == STREAMED for one in made)
        assert abs(2 * streamed - len(made)) <= len(made) / 10


def test_first_trials_of_all_come_before_second_ones() -> None:
    made = plan.trials(SUITE, SUITE, range(2), context=None, most=99)
    assert [one.number for one in made] == [0] * 60 + [1] * 60
    assert {one.mode for one in made if one.scenario is SUITE[0]} == {STREAMED, WHOLE}


def test_a_long_prompt_weighs_more_in_the_time_that_is_left() -> None:
    made = {one.scenario.id: one.weight for one in plan.trials(SUITE, SUITE, range(1), context=None, most=99)}
    assert made["select/one-of-three"] < 1.5
    assert 8 < made["long/middle-32k"] < 20


def test_what_does_not_fit_the_context_is_left_out() -> None:
    assert plan.left_out(SUITE, None) == []
    assert plan.left_out(SUITE, 131072) == []
    assert plan.left_out(SUITE, 32768) == ["long/early-32k", "long/middle-32k"]
    assert "select/one-of-fifty" in plan.left_out(SUITE, 4096)
    made = plan.trials(SUITE, SUITE, range(1), context=32768, most=1024)
    assert len(made) == 58
    assert all(plan.LEAST_ANSWER <= one.most <= 1024 for one in made)


def client(handler: Handler, key: str = "") -> httpx.AsyncClient:
    return make_client(Endpoint("http://box:8000/v1/", key=key), httpx.MockTransport(handler))


def sent(handler: Handler, body: dict[str, Any] | None = None) -> Exchange:
    async def go() -> Exchange:
        async with client(handler, "secret") as one:
            return await send(one, body or asked(), ticking())

    return asyncio.run(go())


def test_an_answer_is_recorded_with_its_times() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        assert request.url == "http://box:8000/v1/chat/completions"
        assert request.headers["authorization"] == "Bearer secret"
        assert request.headers["accept-encoding"] == "identity"
        return reply(200, b"data: x\n\n", "text/event-stream")

    exchange = sent(handler)
    assert (exchange.status, exchange.body, exchange.content_type) == (200, b"data: x\n\n", "text/event-stream")
    assert exchange.arrivals == ((1.0, 9),)
    assert exchange.when(9) == 1.0
    assert exchange.when(10) is None


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (httpx.ConnectError("no"), REFUSED),
        (httpx.ReadTimeout("late"), TIMED_OUT),
        (httpx.ConnectTimeout("late"), TIMED_OUT),
        (httpx.RemoteProtocolError("cut"), BROKEN),
        (httpx.ReadError("cut"), BROKEN),
    ],
)
def test_a_request_that_fails_is_an_exchange_too(error: Exception, failure: str) -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        raise error

    exchange = sent(handler)
    assert (exchange.status, exchange.failure, exchange.answered) == (None, failure, False)


def test_a_stream_without_an_end_is_ended_by_the_time_of_the_request() -> None:
    class Dribble(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            for _ in range(2000):
                yield b"data: {}\n\n"
                await asyncio.sleep(0.01)

    async def go() -> Exchange:
        endpoint = Endpoint("http://box", timeout=0.1)
        answers = httpx.MockTransport(lambda _: httpx.Response(200, stream=Dribble()))
        async with make_client(endpoint, answers) as one:
            return await send(one, asked(stream=True), ticking())

    exchange = asyncio.run(go())
    assert (exchange.status, exchange.failure, exchange.answered) == (200, TIMED_OUT, False)
    assert 0 < len(exchange.body) < 20000


def told(pages: dict[str, Any], model: str = "", stated: dict[str, str] | None = None) -> dict[str, Any]:
    """What an endpoint with these pages is identified as."""

    def handler(request: httpx.Request) -> httpx.Response:
        page = pages.get(request.url.path)
        if isinstance(page, int):
            return httpx.Response(page, json={"error": "x"})
        return httpx.Response(200, json=page) if page is not None else httpx.Response(404, json={"error": "unknown"})

    async def go() -> dict[str, Any]:
        async with client(handler) as one:
            return await identity(one, model, stated or {})

    return asyncio.run(go())


def models(*names: str, **more: Any) -> dict[str, Any]:
    return {"/v1/models": {"data": [{"id": name, **more} for name in names]}}


def test_vllm_is_told_by_its_version() -> None:
    found = told(
        models("a", max_model_len=2048) | {"/version": {"version": "0.32.0"}}, stated={"weights": "ab", "note": ""}
    )
    assert found == {"model": "a", "context": 2048, "engine": "vllm", "version": "0.32.0", "weights": "ab"}


def test_llamacpp_is_told_by_its_build_and_template() -> None:
    props = {"build_info": "b1-abc", "chat_template": "{{ x }}"}
    found = told(models("a", meta={"n_ctx": 4096}) | {"/props": props})
    assert (found["engine"], found["version"], found["context"]) == ("llamacpp", "b1-abc", 4096)
    assert len(found["template_sha256"]) == 64


@pytest.mark.parametrize("model", ["b", "b:latest"])
def test_ollama_is_told_by_the_digest_of_the_model_with_its_tag_or_without(model: str) -> None:
    tags = {"models": [{"name": "a:latest", "digest": "d1"}, {"name": "b:latest", "digest": "d2"}]}
    pages = models("a:latest", "b:latest") | {"/api/version": {"version": "0.9"}, "/api/tags": tags}
    found = told(pages, model)
    assert (found["model"], found["engine"], found["digest"]) == (model, "ollama", "d2")


def test_the_only_model_of_an_ollama_is_found() -> None:
    tags = {"models": [{"name": "a:q4", "digest": "d1"}]}
    found = told(models("a:q4") | {"/api/version": {"version": "0.9"}, "/api/tags": tags})
    assert (found["model"], found["digest"]) == ("a:q4", "d1")


def test_another_engine_is_unknown() -> None:
    assert told(models("a"))["engine"] == "unknown"


@pytest.mark.parametrize(
    ("pages", "model", "kind", "words"),
    [
        (models("a", "b"), "", UsageError, "serves a, b; name one with --model"),
        (models("a"), "c", UsageError, "serves a, not c; correct --model"),
        (models(), "", UsageError, "serves nothing; name one with --model"),
        ({"/v1/models": 401}, "", EndpointError, r"wants a key \(HTTP 401\); give it with --key-file"),
        ({"/v1/models": 502}, "", EndpointError, "/v1/models answered HTTP 502 without a list; is that an engine"),
    ],
)
def test_what_cannot_be_tested_is_told(pages: dict[str, Any], model: str, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        told(pages, model)


def trial_record(name: str = "args/enum", trial: int = 0) -> Record:
    return Record(name, name.partition("/")[0], trial, STREAMED, 1.0)


def test_a_log_gives_back_what_was_made(tmp_path: Path) -> None:
    with Log(tmp_path / "new" / "log", ABOUT) as log:
        log.add(trial_record(trial=0))
        log.add(trial_record(trial=1))
    with Log(tmp_path / "new" / "log", ABOUT) as log:
        assert log.done == [trial_record(trial=0), trial_record(trial=1)]


def test_a_line_that_was_cut_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with Log(path, ABOUT) as log:
        log.add(trial_record())
    path.write_bytes(path.read_bytes() + b'{"trial": {"scen')
    with Log(path, ABOUT) as log:
        assert log.done == [trial_record()]
        log.add(trial_record(trial=1))
    with Log(path, ABOUT) as log:
        assert len(log.done) == 2


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"text\n", "is no trial log; name another file with --log"),
        (b'{"other": 1}\n', "is no trial log"),
        (b'{"about": {"seed": 1, "tier": "gate"}}\n', "is of another run: seed was 1 and is 0 now; name another file"),
        (
            b'{"about": {"seed": 0, "tier": "gate"}}\n{"finished": true}\n',
            "is of a run that is over; name another file",
        ),
    ],
)
def test_a_log_of_something_else_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "log"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=words):
        Log(path, ABOUT)
    assert path.read_bytes() == content


def silent(trial: int, error: str = REFUSED) -> Record:
    return Record("args/enum", "args", trial, STREAMED, 0.0, error=error)


def test_trials_whose_endpoint_had_gone_are_made_again(tmp_path: Path) -> None:
    """Not those before: a build that leaves a request without an answer now and then has done so."""
    refused = Record("args/enum", "args", 3, STREAMED, 0.0, checks={"accepted": "HTTP 500"}, error="HTTP 500")
    path = tmp_path / "log"
    with Log(path, ABOUT) as log:
        for one in (silent(0), trial_record(trial=1), refused, silent(4, BROKEN), silent(5)):
            log.add(one)
    for _ in range(2):
        with Log(path, ABOUT) as log:
            assert log.done == [silent(0), trial_record(trial=1), refused]
    with Log(path, ABOUT) as log:
        log.add(trial_record(trial=4))
    with Log(path, ABOUT) as log:
        assert [one.trial for one in log.done] == [0, 1, 3, 4]


def test_of_a_baseline_every_trial_without_an_answer_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with Log(path, ABOUT) as log:
        for one in (silent(0), trial_record(trial=1)):
            log.add(one)
    with Log(path, ABOUT, again=True) as log:
        assert log.done == [trial_record(trial=1)]
        log.add(trial_record(trial=0))
    with Log(path, ABOUT, again=True) as log:
        assert sorted(one.trial for one in log.done) == [0, 1]
        assert all(one.score == 1 for one in log.done)


@pytest.mark.parametrize(
    ("lost", "bar", "made"), [(1, True, True), (2, True, False), (2, False, True), (40, False, False)]
)
def test_a_bar_is_not_made_of_answers_that_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: int, bar: bool, made: bool
) -> None:
    """Of 72 trials one may be without an answer: each counts as a failure, and a worse build would pass."""
    left = [lost]

    def handler(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            page = models("m", max_model_len=131072).get(request.url.path)
            return httpx.Response(200 if page else 404, json=page or {})
        left[0] -= 1
        if left[0] >= 0:
            raise httpx.ReadTimeout("late")
        return says_25(request)

    monkeypatch.setattr(runner, "MOST_UNANSWERED", 99)
    monkeypatch.setattr(session, "make_client", lambda endpoint: make_client(endpoint, httpx.MockTransport(handler)))
    asked_for = Options(Endpoint("http://box"), TIERS["quick"], 3, sampling={"max_tokens": 64}, log=tmp_path / "log")
    asked_for = replace(asked_for, bar=bar, concurrency=1)
    if made:
        assert len(asyncio.run(session.measure(asked_for)).trials) == 72
        return
    with pytest.raises(EndpointError) as error:
        asyncio.run(session.measure(asked_for))
    told = f"http://box: {lost} of 72 trials had no answer, the first: timed out after 0 s"
    assert str(error.value) == told + (session.TOO_MANY if bar else "")


def test_two_runs_do_not_share_a_log(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with Log(path, ABOUT) as log:
        log.add(trial_record())
        with pytest.raises(UsageError, match="log: another run is at work with it; name another file with --log"):
            Log(path, ABOUT)
    with Log(path, ABOUT) as log:
        assert log.done == [trial_record()]


@pytest.mark.parametrize("name", ["", "file/log"])
def test_a_log_that_cannot_be_is_told(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"cannot be opened: (Is a|Not a|File exists).*; name another file with --log"):
        Log(tmp_path / name, ABOUT)


def test_a_log_is_a_plain_file() -> None:
    with pytest.raises(UsageError, match="/dev/full: is no plain file; name another one with --log"):
        Log(Path("/dev/full"), ABOUT)


def test_a_disk_that_is_full_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with Log(tmp_path / "log", ABOUT) as log:
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(
            FloorError, match="log: cannot be written: No space left on device; make room, and the same"
        ):
            log.add(trial_record())


def run(handler: Handler, log: Log, trials: int = 1, concurrency: int = 4) -> tuple[list[Record], list[Any]]:
    """Records of a run of one scenario, and its progress."""
    progress: list[Any] = []

    async def go() -> list[Record]:
        async with client(handler) as one:
            made = Run(one, "m", 0, concurrency, progress=lambda *told: progress.append(told), clock=ticking())
            todo = plan.trials(SUITE, [scenario("restraint/sum")], range(trials), context=None, most=64)
            return await made.make(todo, log)

    return asyncio.run(go()), progress


def says_25(request: httpx.Request) -> httpx.Response:
    body = json.loads(request.content)
    message = {"role": "assistant", "content": "25"}
    choice = {"index": 0, "finish_reason": "stop"}
    if not body.get("stream"):
        return reply(200, json.dumps({"choices": [choice | {"message": message}]}).encode())
    events = f"data: {json.dumps({'choices': [choice | {'delta': message}]})}\n\ndata: [DONE]\n\n"
    return reply(200, events.encode(), "text/event-stream")


def test_a_run_makes_what_its_log_does_not_have(tmp_path: Path) -> None:
    asked_for = []

    def handler(request: httpx.Request) -> httpx.Response:
        asked_for.append(json.loads(request.content))
        return says_25(request)

    with Log(tmp_path / "log", ABOUT) as log:
        log.add(trial_record("restraint/sum", 0))
        records, progress = run(handler, log, trials=5)
    assert sorted(one.trial for one in records) == [0, 1, 2, 3, 4]
    assert len(asked_for) == 4
    assert {one["max_tokens"] for one in asked_for} == {64}
    assert all(one.score == 1 for one in records)
    assert [(done, total) for done, total, _ in progress] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert progress[-1][2] == 0
    assert [left for _, _, left in progress] == sorted((left for _, _, left in progress), reverse=True)


def test_an_endpoint_that_is_down_ends_the_run(tmp_path: Path) -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("no")

    with (
        Log(tmp_path / "log", ABOUT) as log,
        pytest.raises(EndpointError, match=f"{MOST_UNANSWERED} trials in a row got"),
    ):
        run(handler, log, trials=40)
    assert len(log.done) < 40


def test_errors_of_the_server_do_not_end_the_run(tmp_path: Path) -> None:
    with Log(tmp_path / "log", ABOUT) as log:
        records, _ = run(lambda _: reply(500, b"oops"), log, trials=20)
    assert {(one.score, one.error) for one in records} == {(0.0, "HTTP 500: oops")}


class Server(httpx.AsyncBaseTransport):
    """The perfect model with a fault, which lets other requests in before it answers."""

    def __init__(self, what: str) -> None:
        self.desk = Desk(the_book())
        self.fault = faults.make("tools", {"what": what, "running": 4})
        self.running = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.running += 1
        for _ in range(20):
            await asyncio.sleep(0)
        exchange = served(self.desk, json.loads(request.content), self.fault, running=self.running)
        self.running -= 1
        return reply(exchange.status or 500, exchange.body, exchange.content_type)


@pytest.mark.parametrize(("what", "worse"), [("load", "load"), ("state", "a_b_a"), ("no-id", "")])
def test_probes_tell_what_the_score_does_not(what: str, worse: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "EACH", 8)

    async def go() -> dict[str, Any]:
        async with make_client(Endpoint("http://box"), Server(what)) as one:
            made = Run(one, "m", 0, 2, {"max_tokens": 256})
            return {"a_b_a": await probes.a_b_a(made, SUITE), "load": await probes.load(made, SUITE)}

    found = asyncio.run(go())
    assert [name for name, one in found.items() if one["worse"]] == ([worse] if worse else []), found


def test_the_fingerprint_is_of_words_tools_and_history() -> None:
    async def go() -> dict[str, Any]:
        async with make_client(Endpoint("http://box"), httpx.MockTransport(says_25)) as one:
            return await probes.fingerprint(Run(one, "m", 0, 1))

    assert asyncio.run(go())["words"] == "words unknown, tools unknown, history unknown"
