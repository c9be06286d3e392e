"""Whatever a server answers is a finding, never the end of the test: an answer with anything in any place is judged."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from floor.tooltest.suite.filled import fill
from floor.tooltest.trial.play import Request, play
from floor.tooltest.trial.record import STREAMED, WHOLE, Record
from floor.tooltest.trial.recorded import record
from floor.tooltest.wire import strict
from floor.tooltest.wire.exchange import Exchange
from tests.unit.tooltest.exchanges import scenario

ONE = scenario("select/one-of-three")
LOOPS = "[" * 1200  # what a model writes that cannot stop
HALF = "\ud83d"
STRANGE: list[Any] = [
    *(None, True, 5, "x", [], {}, [1], {"a": 1}, HALF, LOOPS, "[" * 600 + "]" * 600),
    *('{"name": [], "arguments": {}}', '{"a": NaN}', '{"a": "\\ud83d"}'),
]
CALL = {"id": "c1", "type": "function", "function": {"name": "x", "arguments": '{"a": 1}'}}
MESSAGE = {"role": "assistant", "content": "hi", "reasoning": "hm", "tool_calls": [CALL]}
ANSWERS: dict[str, dict[str, Any]] = {
    WHOLE: {
        "choices": [{"index": 0, "message": MESSAGE, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 5},
    },
    STREAMED: {
        "choices": [
            {"index": 0, "delta": {**MESSAGE, "tool_calls": [{"index": 0, **CALL}]}, "finish_reason": "tool_calls"}
        ],
        "usage": {"prompt_tokens": 5},
        "error": None,
    },
}


def places(answer: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield place
    inner = answer.items() if isinstance(answer, dict) else enumerate(answer) if isinstance(answer, list) else ()
    for key, value in inner:
        yield from places(value, (*place, key))


def having(answer: Any, place: tuple[Any, ...], value: Any) -> Any:
    if not place:
        return value
    answer = copy.deepcopy(answer)
    at = answer
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = value
    return answer


def judged(answer: Any, mode: str) -> Record:
    """The record of a trial in which each answer is that one, as it is written down."""
    text = json.dumps(answer)
    body, kind = (
        (text, "application/json") if mode == WHOLE else (f"data: {text}\n\ndata: [DONE]\n\n", "text/event-stream")
    )
    conversation = play(fill(ONE, 0, 0), Request("m", mode == STREAMED))
    asked = next(conversation)
    while True:
        json.dumps(asked, ensure_ascii=False, allow_nan=False).encode()  # it can be sent
        try:
            asked = conversation.send(Exchange(asked, 200, body.encode(), kind))
        except StopIteration as end:
            found = record(ONE, 0, mode, end.value, 1.0)
            json.dumps(found.document(), ensure_ascii=False).encode()  # and written down
            return found


@pytest.mark.parametrize("mode", [WHOLE, STREAMED])
def test_anything_in_any_place_is_judged(mode: str) -> None:
    for place in places(ANSWERS[mode]):
        for value in STRANGE:
            assert judged(having(ANSWERS[mode], place, value), mode).score == 0, (place, str(value)[:40])


BROKEN = [
    (("choices", 0, "message", "content"), HALF, "well-formed", "it holds half of a character (a surrogate alone)"),
    (("choices", 0, "message", "tool_calls", 0, "function", "name"), [], "tool-known", "a tool without a name was not"),
    (("choices", 0, "finish_reason"), ["stop"], "well-formed", "finish_reason is of type list"),
]


@pytest.mark.parametrize(("place", "value", "check", "words"), BROKEN)
def test_it_is_told_by_its_check(place: tuple[Any, ...], value: Any, check: str, words: str) -> None:
    assert words in judged(having(ANSWERS[WHOLE], place, value), WHOLE).checks[check]


STREAM = [
    (("choices",), {"a": 1}, "choices are no list of objects"),
    (("choices", 0, "delta"), "text", "a delta is no object"),
    (("choices", 0, "delta", "tool_calls"), 5, "tool_calls is no list"),
    (("choices", 0, "delta", "content"), 5, "content is of type int"),
    (("choices", 0, "finish_reason"), {"why": "stop"}, "finish_reason is of type dict"),
]


@pytest.mark.parametrize(("place", "value", "words"), STREAM)
def test_a_stream_of_other_types_is_told(place: tuple[Any, ...], value: Any, words: str) -> None:
    assert judged(having(ANSWERS[STREAMED], place, value), STREAMED).checks["well-formed"] == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": NaN}', "NaN is no JSON"),
        ("[-Infinity]", "-Infinity is no JSON"),
        ("[" * 100_000, "nested without an end"),
        ("[" * 101 + "]" * 101, "nested more than 100 deep"),
        ('{"a": "\\ud83d"}', "half of a character"),
        (b'{"a": "\xed\xa0\x80"}', "can't decode"),
    ],
)
def test_what_another_client_refuses_is_no_json(text: str | bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        strict.loads(text)


def test_whole_characters_and_deep_enough_json_are_read() -> None:
    assert strict.loads('{"a": "\\ud83d\\ude00"}') == {"a": "\U0001f600"}
    assert strict.loads("[" * 100 + "]" * 100)
    assert strict.loads('"' + "[{" * 200 + '"') == "[{" * 200
