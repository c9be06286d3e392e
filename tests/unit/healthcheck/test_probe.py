"""A look asks three things; a generation asks one token, or a few for a speed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from floor.healthcheck.probe import generate, look
from floor.healthcheck.sample import Fault, Generation, Sample
from floor.healthcheck.target import Target

Make = Callable[..., Target]


def looked(engine: Any, target: Target) -> Sample:
    async def run() -> Sample:
        async with engine.client() as client:
            return await look(client, target, clock=engine.clock)

    return asyncio.run(run())


def generated(engine: Any, target: Target, timeout: float = 10.0) -> Generation:
    async def run() -> Generation:
        async with engine.client() as client:
            return await generate(client, target, clock=engine.clock, timeout=timeout)

    return asyncio.run(run())


def test_a_look_at_a_healthy_engine(engine: Any, make_target: Make) -> None:
    engine.running, engine.waiting, engine.generated = 3, 1, 40
    sample = looked(engine, make_target(key="sk-secret"))
    assert sample.health.ok
    assert sample.served == ("flagship",)
    assert sample.load is not None
    assert (sample.in_flight, sample.load.generated, sample.loading) == (4, 40, False)
    assert sorted(r.url.path for r in engine.asked) == ["/health", "/metrics", "/v1/models"]
    assert all(r.headers["authorization"] == "Bearer sk-secret" for r in engine.asked)
    assert (sample.began, sample.at) == (100.0, 100.0)


def test_the_three_are_asked_at_once(engine: Any, make_target: Make) -> None:
    """One that is late does not make the others late: the look takes one time-out, not three."""

    async def late(request: httpx.Request) -> httpx.Response:
        await asyncio.sleep(30)
        return httpx.Response(200)

    async def run() -> tuple[Sample, float]:
        loop = asyncio.get_running_loop()
        async with httpx.AsyncClient(transport=httpx.MockTransport(late)) as client:
            began = loop.time()
            return await look(client, make_target(probe_timeout=0.1), clock=loop.time), loop.time() - began

    sample, seconds = asyncio.run(run())
    assert {sample.health.fault, sample.models.fault, sample.metrics.fault} == {Fault.UNREACHABLE}
    assert seconds < 0.25


def test_everything_that_goes_wrong_is_data(engine: Any, make_target: Make) -> None:
    engine.health = httpx.ConnectError("no")
    engine.models = "<html>welcome</html>"
    engine.metrics = httpx.Response(501, json={"error": {"message": "not enabled"}})
    sample = looked(engine, make_target())
    assert sample.health.fault is Fault.UNREACHABLE
    assert (sample.models.ok, sample.served) == (True, None)
    assert (sample.metrics.status, sample.metrics.detail, sample.load) == (501, "not enabled", None)


def test_an_engine_that_says_it_loads(engine: Any, make_target: Make) -> None:
    engine.health = httpx.Response(503, json={"error": {"message": "Loading model"}})
    assert looked(engine, make_target()).loading


def test_a_page_that_was_cut_off_is_not_read(engine: Any, make_target: Make) -> None:
    """A sum that lacks a series would look like work done backwards."""
    engine.metrics = engine.page() + "#" * (2 * 1024 * 1024)
    sample = looked(engine, make_target())
    assert sample.load is None
    assert sample.metrics.detail == "stopped reading after 2097152 bytes"


def test_an_error_page_with_numbers_is_not_read(engine: Any, make_target: Make) -> None:
    engine.metrics = httpx.Response(502, text=engine.page())
    assert looked(engine, make_target()).load is None


def test_one_token(engine: Any, make_target: Make) -> None:
    """The answer of a reasoning model is empty; its count is what proves it."""
    generation = generated(engine, make_target())
    assert (generation.proven, generation.tokens, generation.speed) == (True, 1, None)
    assert (generation.began, generation.at) == (100.0, 100.2)
    assert generation.answer.seconds == pytest.approx(0.2)
    sent = json.loads(engine.asked[0].content)
    assert (sent["max_tokens"], sent["model"]) == (1, "flagship")
    assert len(engine.asked) == 1


def test_a_model_without_a_chat_template_is_asked_for_a_completion(engine: Any, make_target: Make) -> None:
    def refuses_chat(request: httpx.Request) -> Any:
        if "chat" in request.url.path:
            return httpx.Response(400, json={"error": {"message": "no chat template"}})
        return {"usage": {"completion_tokens": 1}}

    engine.generation = refuses_chat
    assert generated(engine, make_target()).proven
    assert [r.url.path for r in engine.asked] == ["/v1/chat/completions", "/v1/completions"]


def test_a_body_refused_twice_is_told_in_the_engines_words(engine: Any, make_target: Make) -> None:
    engine.generation = lambda _: httpx.Response(400, json={"error": {"message": "max_tokens is unknown"}})
    generation = generated(engine, make_target())
    assert not generation.proven
    assert str(generation.answer) == "POST /v1/completions answered 400: max_tokens is unknown"


@pytest.mark.parametrize("status", [401, 404, 500, 503])
def test_another_refusal_is_not_tried_again(engine: Any, make_target: Make, status: int) -> None:
    engine.generation = status
    assert generated(engine, make_target()).answer.status == status
    assert len(engine.asked) == 1


def test_an_answer_without_usage_has_no_tokens(engine: Any, make_target: Make) -> None:
    engine.generation = {"choices": [{"message": {"content": "Hello"}}]}
    generation = generated(engine, make_target())
    assert (generation.tokens, generation.proven) == (None, False)


def takes(engine: Any, *seconds: float) -> Callable[[httpx.Request], Any]:
    """Generations of as many tokens as were asked for, each in its own time."""
    times = iter(seconds)

    def answer(request: httpx.Request) -> Any:
        engine.clock.now += next(times)
        return {"usage": {"completion_tokens": json.loads(request.content)["max_tokens"]}}

    engine.took = 0.0
    return answer


@pytest.mark.parametrize(
    ("first", "second", "speed"),
    [
        (0.2, 0.5, 15 / 0.3),  # what both have in common is the prompt
        (1.0, 0.5, 16 / 0.5),  # the first one compiled
        (3.0, 3.5, 30),  # a long silent prefill is not a slow engine
    ],
)
def test_a_speed_is_of_the_tokens_beyond_the_first(
    engine: Any, make_target: Make, first: float, second: float, speed: float
) -> None:
    engine.generation = takes(engine, first, second)
    generation = generated(engine, make_target(min_speed=5))
    assert generation.speed == pytest.approx(speed)
    assert generation.tokens == 1
    assert [json.loads(r.content)["max_tokens"] for r in engine.asked] == [1, 16]


def test_answers_in_no_time_tell_no_speed(engine: Any, make_target: Make) -> None:
    engine.generation = takes(engine, 0, 0)
    assert generated(engine, make_target(min_speed=5)).speed is None


def test_running_out_of_time_is_a_bound_of_the_speed(engine: Any, make_target: Make) -> None:
    """As many tokens are asked as the minimum would make in the time that is left, the prompt taken off."""
    engine.took = 2.0

    def second_is_late(request: httpx.Request) -> Any:
        return {"usage": {"completion_tokens": 1}} if len(engine.asked) == 1 else httpx.ReadTimeout("")

    engine.generation = second_is_late
    generation = generated(engine, make_target(min_speed=1), timeout=10)
    assert json.loads(engine.asked[1].content)["max_tokens"] == 7
    assert (generation.proven, generation.speed, generation.speed_below) == (True, None, pytest.approx(1.0))


def test_no_time_left_for_a_speed_leaves_it_unknown(engine: Any, make_target: Make) -> None:
    engine.took = 5.0
    generation = generated(engine, make_target(min_speed=5), timeout=10)
    assert (generation.proven, generation.speed, generation.speed_below) == (True, None, None)
    assert len(engine.asked) == 1


def test_a_speed_is_not_taken_from_a_failed_answer(engine: Any, make_target: Make) -> None:
    engine.generation = lambda _: {"usage": {"completion_tokens": 1}} if len(engine.asked) == 1 else 500
    generation = generated(engine, make_target(min_speed=5))
    assert (generation.proven, generation.speed, generation.speed_below) == (True, None, None)
