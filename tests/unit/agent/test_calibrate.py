"""Timing an engine: what is sent, what is made of what comes, and what tells nothing. And what a box keeps."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from floor.agent import calibrate
from floor.agent.calibrate import Stream, Work, figures, measure, request
from floor.box import calibrations
from floor.errors import FloorError
from floor.healthcheck.client import make_client
from floor.healthcheck.target import Target

from .conftest import EPOCH, Box

TARGET = Target("flagship@spark-a", "http://192.0.2.11:8000", "flagship", key="a-key-of-the-engine")
WORK = Work(1, 64, 4, 7)
LOG = """\
INFO Model loading took 70.9 GiB and 200.0 seconds
INFO Available KV cache memory: 13.37 GiB
INFO GPU KV cache size: 499,110 tokens, Maximum concurrency for 262,144 tokens per request: 1.90x
"""


def _ticks() -> Callable[[], float]:
    ticks: Iterator[int] = iter(range(10**6))
    return lambda: float(next(ticks))


def _answer(*pieces: dict[str, Any], done: bool = True, status: int = 200) -> httpx.MockTransport:
    lines = [f"data: {json.dumps(piece)}" for piece in pieces] + ["data: [DONE]"] * done

    def handle(asked: httpx.Request) -> httpx.Response:
        assert asked.headers["authorization"] == "Bearer a-key-of-the-engine"
        return httpx.Response(status, text="\n\n".join(lines))

    return httpx.MockTransport(handle)


def _measure(transport: httpx.MockTransport, work: Work = WORK) -> dict[str, Any]:
    async def once() -> dict[str, Any]:
        async with make_client(transport) as client:
            return await measure(client, TARGET, work, _ticks(), 60)

    return asyncio.run(once())


def _pieces(many: int) -> list[dict[str, Any]]:
    return [{"choices": [{"text": "a"}]}] * many


def test_a_stream_is_timed_piece_by_piece_and_counted_as_the_engine_counts() -> None:
    """The clock ticks once for each piece: 3 intervals for the 7 tokens after the first."""
    usage = {"choices": [], "usage": {"prompt_tokens": 65, "completion_tokens": 7}}
    assert _measure(_answer(*_pieces(4), usage)) == {"prompt": 65, "answer": 7, "first": 1.0, "speed": 2.0}


def test_an_engine_that_counts_nothing_is_counted_by_its_pieces() -> None:
    assert _measure(_answer(*_pieces(4))) == {"prompt": 64, "answer": 4, "first": 1.0, "speed": 1.0}


def test_several_are_timed_while_all_of_them_generate() -> None:
    early, late = Stream([1, 2, 3, 4, 5]), Stream([3, 4, 5, 6, 7])
    found = figures([early, late], "flagship@spark-a", Work(2, 64, 5, 7))
    assert (found["first"], found["speed"]) == (3, 2.0)


@pytest.mark.parametrize(
    ("transport", "told"),
    [
        (_answer(*_pieces(4), done=False), "a stream of 64 tokens and 4 more: broke off; the engine's log says why"),
        (_answer(*_pieces(2)), "came in fewer than 3 pieces; it tells no speed"),
        (_answer({"error": {"message": "too long"}}, status=400), ": refused, 400: "),
        (httpx.MockTransport(lambda _: httpx.Response(200, text="data: nonsense")), "broke off (Expecting value"),
    ],
)
def test_what_tells_no_speed_is_said_with_its_reason(transport: httpx.MockTransport, told: str) -> None:
    with pytest.raises(FloorError) as raised:
        _measure(transport)
    assert str(raised.value).startswith("flagship@spark-a: a stream of 64 tokens and 4 more: ")
    assert told in str(raised.value)


def test_streams_that_never_ran_side_by_side() -> None:
    with pytest.raises(FloorError, match="2 streams at once of 64 tokens and 3 more: never ran side by side; ask for"):
        figures([Stream([1, 2, 3]), Stream([4, 5, 6])], "flagship@spark-a", Work(2, 64, 3, 7))


@pytest.mark.parametrize(("needed", "longest", "found"), [(12, 99, 16), (12, 8, None), (99, 99, None)])
def test_where_streams_never_ran_side_by_side_longer_answers_are_asked_for(
    monkeypatch: pytest.MonkeyPatch, needed: int, longest: int, found: int | None
) -> None:
    """The second one begins when the first has `needed` tokens; more than `longest` are refused. Four are asked for."""
    asked: list[Work] = []

    async def streams(*given: Any) -> list[Stream]:
        work = given[2]
        asked.append(work)
        if work.answer > longest:
            raise FloorError("refused, 400")
        return [Stream([float(at + late) for at in range(work.answer)]) for late in (0, needed)]

    monkeypatch.setattr(calibrate, "_streams", streams)
    if found is None:
        with pytest.raises(calibrate.ApartError, match="never ran side by side"):
            _measure(_answer(), Work(2, 64, 4, 7))
    else:
        assert _measure(_answer(), Work(2, 64, 4, 7))["answer"] == found
    assert [work.answer for work in asked] == [4, 8, 16, 32, 64][: len(asked)]
    assert len({work.seed for work in asked}) == len(asked)


@pytest.mark.parametrize(("longest", "found"), [(999, 32), (20, 16)])
def test_what_is_over_at_once_is_measured_with_longer_answers(
    monkeypatch: pytest.MonkeyPatch, longest: int, found: int
) -> None:
    """25 tokens a second: 4 of them tell little. An engine that takes no longer ones is measured by those it took."""

    async def streams(*given: Any) -> list[Stream]:
        if given[2].answer > longest:
            raise FloorError("refused, 400")
        return [Stream([at / 25 for at in range(given[2].answer)])]

    monkeypatch.setattr(calibrate, "_streams", streams)
    measured = _measure(_answer())
    assert (measured["answer"], measured["speed"]) == (found, pytest.approx(25))


def test_each_stream_and_each_seed_has_a_prompt_of_its_own() -> None:
    bodies = [request(TARGET, Work(2, 64, 4, seed), number) for seed in (7, 8) for number in (0, 1)]
    assert len({json.dumps(body["prompt"]) for body in bodies}) == 4
    assert all(len(body["prompt"]) == 64 and min(body["prompt"]) >= 10 for body in bodies)
    assert bodies[0] == request(TARGET, Work(2, 64, 4, 7), 0)
    assert bodies[0]["ignore_eos"] is True
    text = request(Target("m@a", "http://192.0.2.11:1", "m", dialect="ollama"), WORK, 0)["prompt"]
    assert len(text.split()) == 64


def test_a_start_is_read_from_its_log(box: Box) -> None:
    box.log = LOG
    found = box.call("calibrate.look", unit="floor-copy-flagship.service")
    assert found["launch"] == ""
    assert (found["start"]["available"], found["start"]["tokens"]) == (13.37, 499_110)


def test_a_start_whose_log_is_gone_is_told_by_the_guard(box: Box) -> None:
    """Where it is the same start."""
    start = box.call("calibrate.look", unit="floor-copy-flagship.service")["start"]
    place = box.root / "run/floor/guard/state.json"
    place.parent.mkdir(parents=True)
    for launch, told in (("", 13.37), ("another", None)):
        seen = {"launch": launch, "utilization": 0.7, "start": {**start, "available": 13.37}}
        place.write_text(json.dumps({"at": 1.0, "starts": {"floor-copy-flagship.service": seen}}))
        found = box.call("calibrate.look", unit="floor-copy-flagship.service")
        assert found["start"]["available"] == told


def test_a_box_keeps_the_last_of_each_launch_and_tells_layouts_and_the_guard_s_advice(box: Box) -> None:
    def keep(launch: str, speed: float) -> None:
        figures = {"launch": launch, "utilization": 0.7, "start": {}, "points": [{"speed": speed}]}
        box.call("calibrate.keep", epoch=EPOCH, backend="flagship@spark-a", figures=figures)

    for launch, speed in (("one", 1.0), ("two", 2.0), ("one", 3.0)):
        keep(launch, speed)
    kept = calibrations.read(box.root)["flagship@spark-a"]
    assert [(one["launch"], one["points"][0]["speed"]) for one in kept] == [("two", 2.0), ("one", 3.0)]
    told = box.call("layout.look", sources=[])["calibrated"]["flagship@spark-a"]
    assert [one["launch"] for one in told] == ["two", "one"]
    assert box.call("guard.state")["calibrated"]["flagship@spark-a"]["launch"] == "one"
    for number in range(6):
        keep(f"launch-{number}", 1.0)
    assert len(calibrations.read(box.root)["flagship@spark-a"]) == calibrations.KEPT


@pytest.mark.parametrize("text", ["", "[]", '{"a@b": 3}', "{", '{"a@b": [{"launch": "x"}, 7]}'])
def test_a_file_that_is_damaged_tells_nothing(box: Box, text: str) -> None:
    place = box.root / "var/lib/floor/calibrations.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    assert not any(calibrations.read(box.root).values())
