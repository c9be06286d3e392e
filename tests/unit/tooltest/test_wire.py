"""Bytes of answers as strict clients read them; nothing is repaired."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from floor.tooltest.wire import events, reading
from floor.tooltest.wire.answer import MISSING
from floor.tooltest.wire.exchange import TIMED_OUT, Exchange
from tests.unit.tooltest.exchanges import CASES, asked, called, capture, streamed, whole
from tests.unit.tooltest.exchanges import events as stream_of

STREAMS = yaml.safe_load((CASES / "tooltest" / "streams.yaml").read_text())


def data(body: bytes) -> list[bytes]:
    return [one.data for one in events.read(body).events]


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
        (b"data: a\r\n\r\ndata: b\r\r", [b"a", b"b"]),
        (b"data:a\n\ndata:  b\n\n", [b"a", b" b"]),
        (b"data: a\ndata: b\n\n", [b"a\nb"]),
        (b": a comment\n\ndata: a\n: another\n\n", [b"a"]),
        (b"id: 7\nevent: x\nretry: 3\ndata: a\n\n", [b"a"]),
        (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
        (b"data: a\n\ndata: cut", [b"a"]),
        (b"data: a\n\ndata: cut\n", [b"a"]),
        (b"data\n\n", [b""]),
        (b"", []),
    ],
)
def test_events_are_read_by_the_standard(body: bytes, wanted: list[bytes]) -> None:
    assert data(body) == wanted


def test_what_no_client_sees_is_told() -> None:
    assert events.read(b"data: a\n\ndata: cut").tail == b"data: cut"
    assert events.read(b"data: a\n\n\n").tail == b""


@settings(max_examples=30)
@given(st.lists(st.binary(max_size=30), max_size=6), st.sampled_from([b"\n", b"\r\n"]))
def test_any_events_come_back(texts: list[bytes], end: bytes) -> None:
    texts = [text.replace(b"\r", b"").replace(b"\n", b"") for text in texts]
    body = b"".join(b"data: " + text + end + end for text in texts)
    assert data(body) == texts
    assert [one.end for one in events.read(body).events][-1:] == ([len(body)] if texts else [])


@pytest.mark.parametrize("case", STREAMS, ids=lambda case: case["name"])
def test_streams_of_servers_are_put_together(case: dict[str, Any]) -> None:
    answer = reading.read(streamed(stream_of(case["deltas"])))
    assert list(dict.fromkeys(answer.indexes)) == case.get("indexes", [])
    assert answer.malformed == ()
    assert sum(call.tangled for call in answer.calls) == case.get("tangled", 0)
    assert answer.reasoning == case.get("reasoning", "")
    assert answer.content == case.get("content", "")
    if "calls" in case:
        assert [[call.id, call.name, call.arguments] for call in answer.calls] == case["calls"]


@pytest.mark.parametrize(
    ("path", "stream", "content", "finish", "tokens"),
    [
        ("vllm/chat.txt", False, "", "length", 14),
        ("vllm/chat_stream.txt", True, "", "length", 14),
        ("llamacpp/tools_auto.txt", False, "<|im_end|>\n", "length", 27),
        ("llamacpp/tools_auto_stream.txt", True, "<|im_end|>\n", "length", None),
    ],
)
def test_exchanges_recorded_from_real_servers_are_read(
    path: str, stream: bool, content: str, finish: str, tokens: int | None
) -> None:
    answer = reading.read(capture(path, stream=stream))
    assert (answer.malformed, answer.indexes, answer.calls) == ((), (), ())
    assert answer.content.startswith(content)
    assert (answer.finish, answer.prompt_tokens) == (finish, tokens)


def test_an_error_of_a_real_server_is_told_with_its_words() -> None:
    exchange = capture("vllm/too_long.txt", stream=False)
    assert not exchange.answered
    assert exchange.said.startswith('HTTP 400: {"error":{"message":"This model')


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (stream_of([{"content": "a"}]).removesuffix(b"data: [DONE]\n\n"), "the stream ends without [DONE]"),
        (b"data: {broken\n\ndata: [DONE]\n\n", "an event is no JSON: b'{broken'"),
        (b"data: []\n\ndata: [DONE]\n\n", "an event is no object"),
        (b'data: {"error": {"message": "x"}}\n\ndata: [DONE]\n\n', 'an error in the stream: {"message": "x"}'),
        (stream_of([]) + b"data: {}\n\n", "an event follows [DONE]"),
        (stream_of([]) + b"data: {}", "the stream ends within an event: b'data: {}'"),
        (stream_of([{"tool_calls": ["x"]}]), "a tool call's delta is no object"),
    ],
)
def test_a_stream_of_bad_form_is_told(body: bytes, wanted: str) -> None:
    assert wanted in reading.read(streamed(body)).malformed


def test_a_stream_of_another_type_is_told() -> None:
    exchange = Exchange(asked(stream=True), 200, stream_of([]), "application/json")
    assert reading.read(exchange).malformed == ("the stream's content type is 'application/json'",)


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (b"<html>", "the body is no JSON: b'<html>'"),
        (b"{}", "there is no choice in the answer"),
        (b'{"choices": []}', "there is no choice in the answer"),
        (b'{"choices": [{}]}', "the choice has no message"),
        (b'{"choices": [{"message": {"content": ""}}]}', "the message's role is None, not assistant"),
        (b'{"choices": [{"message": {"role": "assistant", "tool_calls": {}}}]}', "tool_calls is no list"),
        (b'{"choices": [{"message": {"role": "assistant", "content": 7}}]}', "content is of type int"),
    ],
)
def test_an_answer_of_bad_form_is_told(body: bytes, wanted: str) -> None:
    assert reading.read(Exchange(asked(), 200, body, "application/json")).malformed == (wanted,)


def test_what_is_absent_is_not_what_is_empty() -> None:
    bare = {"tool_calls": [{"function": {}}, {"id": "", "function": {"name": None, "arguments": ""}}, "no object"]}
    first, second, third = reading.read(whole(bare)).calls
    assert (first.id, first.name, first.arguments) == (MISSING, MISSING, MISSING)
    assert (second.id, second.name, second.arguments) == ("", None, "")
    assert third.id is MISSING


def test_parts_of_text_are_joined() -> None:
    answer = reading.read(whole({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}))
    assert answer.content == "ab"


def test_an_exchange_without_an_answer_says_nothing() -> None:
    cut = Exchange(asked(stream=True), 200, b"data: {}", "text/event-stream", seconds=30, failure=TIMED_OUT)
    assert reading.read(cut) == reading.read(Exchange(asked(), None, failure=TIMED_OUT))
    assert cut.said == "timed out after 30 s"


def test_times_are_those_of_the_first_delta_that_says_something() -> None:
    body = stream_of([{"content": ""}, {"content": "a"}, {"tool_calls": [called() | {"index": 0}]}])
    ends = [at + 2 for at in range(len(body)) if body[at : at + 2] == b"\n\n"]
    arrivals = tuple((float(number), end) for number, end in enumerate(ends))
    answer = reading.read(Exchange(asked(stream=True), 200, body, "text/event-stream", arrivals))
    assert (answer.first_token, answer.first_tool_byte) == (2.0, 3.0)
