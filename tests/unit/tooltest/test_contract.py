"""The contract of single exchanges: what holds, what does not, and what is told once only."""

from __future__ import annotations

from typing import Any

import pytest

from floor.tooltest.contract import checks, markers, names
from floor.tooltest.contract.names import CHECKS
from floor.tooltest.wire import reading
from floor.tooltest.wire.exchange import REFUSED, TIMED_OUT, Exchange
from tests.unit.tooltest.exchanges import asked, called, capture, events, streamed, tool, whole

NAMED = {"type": "function", "function": {"name": "stock_level"}}


def wrong(exchange: Exchange, **more: Any) -> dict[str, str]:
    """The checks that did not hold, with their words."""
    found = checks.check(
        exchange,
        reading.read(exchange),
        own=more.pop("own", False),
        foreign=more.pop("foreign", False),
        wanted=more.pop("wanted", ()),
    )
    return {name: words for name, words in found.items() if words}


def applied(exchange: Exchange) -> set[str]:
    return set(checks.check(exchange, reading.read(exchange), own=False, foreign=False, wanted=()))


def test_a_good_call_holds_every_check_that_applies() -> None:
    exchange = whole({"content": None, "tool_calls": [called()]})
    assert wrong(exchange) == {}
    assert applied(exchange) == {
        *(
            "accepted",
            "well-formed",
            "marks-in-values",
            "arguments-text",
            "arguments-schema",
            "tool-known",
            "ids",
            "finish",
        ),
    }


def test_good_words_hold_every_check_that_applies() -> None:
    exchange = whole({"content": "There are 7."})
    assert wrong(exchange) == {}
    assert applied(exchange) == {"accepted", "well-formed", "call-in-content", "finish"}


@pytest.mark.parametrize(
    ("more", "check"),
    [({}, "accepted"), ({"foreign": True}, "history-accepted"), ({"own": True, "foreign": True}, "own-call-accepted")],
)
def test_an_error_is_told_by_what_the_request_carried(more: dict[str, bool], check: str) -> None:
    exchange = Exchange(asked(), 500, b'{"error": "x"}', "application/json")
    assert wrong(exchange, **more) == {check: 'HTTP 500: {"error": "x"}'}


@pytest.mark.parametrize(
    "exchange",
    [
        Exchange(asked(), None, failure=REFUSED),
        Exchange(asked(), None, failure=TIMED_OUT),
        Exchange(asked(stream=True), 200, b"data: {}\n\n", "text/event-stream", failure=TIMED_OUT),
    ],
)
def test_no_answer_breaks_no_contract(exchange: Exchange) -> None:
    assert applied(exchange) == set()


def test_a_malformed_answer_is_told_once() -> None:
    assert wrong(streamed(events([]).replace(b"[DONE]", b"[OVER]"))).keys() == {names.WELL_FORMED}


@pytest.mark.parametrize(
    ("call", "check", "words"),
    [
        (
            called(arguments='{"part": "AB-1"'),
            "arguments-text",
            'arguments of stock_level are no JSON object: {"part": "AB-1"',
        ),
        (called(arguments="[1]"), "arguments-text", "arguments of stock_level are no JSON object: [1]"),
        (called(arguments=""), "arguments-text", "arguments of stock_level are an empty text"),
        (called(arguments={"part": "A"}), "arguments-text", 'arguments of stock_level are no text but {"part": "A"}'),
        (called(arguments="{}"), "arguments-schema", "stock_level: the arguments: part is missing"),
        (called(arguments='{"part": 7}'), "arguments-schema", "stock_level: part: 7 is no string"),
        (
            called(arguments='{"part": "A", "x": 1}'),
            "arguments-schema",
            "stock_level: the arguments: x is not in the schema",
        ),
        (called(name="shelf"), "tool-known", "shelf was not offered"),
        (called(name=None), "tool-known", "a tool without a name was not offered"),
        (called(name="<tool_call>stock"), "marks-in-values", "the tool's name holds <tool_call>: '<tool_call>stock'"),
        (
            called(arguments='{"part": "A</tool_call>"}'),
            "marks-in-values",
            "arguments of stock_level hold </tool_call>",
        ),
        (called(id_=""), "ids", "a call of stock_level has the id ''"),
        (called(id_=None), "ids", "a call of stock_level has the id None"),
        (called(id_=7), "ids", "a call of stock_level has the id 7"),
    ],
)
def test_a_bad_call_breaks_one_check(call: dict[str, Any], check: str, words: str) -> None:
    assert wrong(whole({"tool_calls": [call]})) == {check: words}


def test_a_real_engines_nonsense_is_no_object() -> None:
    """vLLM with random weights, asked for a tool by name: a list for arguments, and a finish_reason that is legal."""
    exchange = capture("vllm/tool_named_stream.txt", stream=True)
    request = asked(stream=True, tools=[tool("get_weather")], tool_choice={"function": {"name": "get_weather"}})
    assert wrong(Exchange(request, 200, exchange.body, exchange.content_type)).keys() == {"arguments-text"}


@pytest.mark.parametrize("arguments", ["", None, {}])
def test_a_call_without_arguments_has_the_text_of_an_empty_object(arguments: object) -> None:
    bare = {"type": "function", "function": {"name": "stock_level", "parameters": {"type": "object", "properties": {}}}}
    request = asked(tools=[bare])
    assert wrong(whole({"tool_calls": [called(arguments=arguments)]}, request=request)).keys() == {"empty-arguments"}
    assert wrong(whole({"tool_calls": [called(arguments="{}")]}, request=request)) == {}


def test_two_calls_must_not_share_an_id() -> None:
    assert wrong(whole({"tool_calls": [called(), called()]})) == {"ids": "calls share an id: call_1, call_1"}


def test_tangled_calls_are_told_by_their_indexes_alone() -> None:
    deltas = [{"tool_calls": [called(id_=name, arguments="{") | {"index": 0}]} for name in "ab"]
    assert wrong(streamed(events(deltas, "tool_calls"))) == {"stream-indexes": "two calls share the index 0"}


@pytest.mark.parametrize(
    ("finish", "message", "words"),
    [
        ("stop", {"tool_calls": [called()]}, "finish_reason is 'stop' beside 1 calls"),
        ("tool_calls", {"content": "no"}, "finish_reason is 'tool_calls' beside 0 calls"),
        ("function_call", {"tool_calls": [called()]}, "finish_reason is 'function_call' beside 1 calls"),
    ],
)
def test_the_end_must_agree_with_the_calls(finish: str, message: dict[str, Any], words: str) -> None:
    assert wrong(whole(message, finish)) == {"finish": words}


def test_an_answer_cut_at_its_most_tokens_is_no_fault_of_the_wire() -> None:
    exchange = whole({"content": "I would"}, "length", asked(tool_choice="required"))
    assert wrong(exchange) == {}
    assert "finish" not in applied(exchange)


@pytest.mark.parametrize(
    ("choice", "message", "words"),
    [
        ("none", {"tool_calls": [called()]}, "tool_choice is none, and stock_level was called"),
        ("required", {"content": "no"}, "tool_choice is required, and nothing was called"),
        (NAMED, {"content": "no"}, "tool_choice names stock_level, and nothing was called"),
        (NAMED, {"tool_calls": [called("shelf")]}, "tool_choice names stock_level, and shelf was called"),
    ],
)
def test_tool_choice_must_be_honoured(choice: object, message: dict[str, Any], words: str) -> None:
    request = asked(tools=[tool(), tool("shelf")], tool_choice=choice)
    assert wrong(whole(message, request=request)) == {"choice": words}


def test_one_call_at_a_time_must_be_honoured() -> None:
    request = asked(parallel_tool_calls=False)
    two = {"tool_calls": [called(), called(id_="call_2")]}
    assert wrong(whole(two, request=request)) == {"choice": "parallel_tool_calls is false, and 2 calls came at once"}


def test_a_call_by_name_may_end_in_stop() -> None:
    assert wrong(whole({"tool_calls": [called()]}, "stop", asked(tool_choice=NAMED))) == {}


def test_a_required_call_that_stayed_in_the_text_is_told_once() -> None:
    text = '<tool_call>{"name": "stock_level", "arguments": {}}</tool_call>'
    assert wrong(whole({"content": text}, request=asked(tool_choice="required"))).keys() == {"call-in-content"}


@pytest.mark.parametrize("mark", [*markers.CALLS, *markers.TURNS, *markers.THOUGHTS])
def test_no_mark_may_be_left_in_the_content(mark: str) -> None:
    assert wrong(whole({"content": f"well {mark} then"})).keys() == {"call-in-content"}


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "stock_level", "arguments": {"part": "A"}}',
        '```json\n{"name": "stock_level", "parameters": {}}\n```',
        '[{"function": {"name": "stock_level", "arguments": "{}"}}]',
    ],
)
def test_a_call_as_plain_text_is_found(text: str) -> None:
    assert wrong(whole({"content": text})) == {"call-in-content": "a call of stock_level as text"}
    assert wrong(whole({"content": "so", "reasoning": text})) == {"call-in-reasoning": "a call of stock_level as text"}


@pytest.mark.parametrize(
    "text",
    ['{"name": "another", "arguments": {}}', '{"name": "stock_level"}', "{", '"stock_level"', "stock_level(A)", "[7]"],
)
def test_other_text_is_no_call(text: str) -> None:
    assert wrong(whole({"content": text})) == {}


def test_marks_that_the_request_itself_has_may_be_repeated() -> None:
    request = asked(messages=[{"role": "user", "content": "What does </parameter> mean?"}])
    assert wrong(whole({"content": "</parameter> ends a value"}, request=request)) == {}
    call = called(arguments='{"part": "</parameter>"}')
    assert wrong(whole({"tool_calls": [call]}, request=request)) == {}


def test_thoughts_may_be_marked_in_the_reasoning_and_nowhere_else() -> None:
    assert wrong(whole({"content": "so", "reasoning": "<think> well"})) == {}
    assert wrong(whole({"content": "</think> so"})).keys() == {"call-in-content"}


def test_a_model_that_must_not_call_may_write_what_it_likes() -> None:
    assert wrong(whole({"content": "<tool_call>"}, request=asked(tool_choice="none"))) == {}


def test_a_prompt_that_was_cut_is_told_by_its_tokens() -> None:
    request = asked(messages=[{"role": "user", "content": "word " * 300}])
    cut = whole({"content": "so"}, request=request, usage={"prompt_tokens": 299})
    assert wrong(cut) == {"prompt-whole": "299 tokens were read of 300 words"}
    assert wrong(whole({"content": "so"}, request=request, usage={"prompt_tokens": 300})) == {}
    assert "prompt-whole" not in applied(whole({"content": "so"}, request=request))


def test_damage_is_told_against_the_nearest_wanted_call() -> None:
    wanted = [("stock_level", {"part": "a & b"}), ("stock_level", {"part": "c"})]
    damaged = called(arguments='{"part": "a &amp; b"}')
    assert wrong(whole({"tool_calls": [called(arguments='{"part": "c"}')]}), wanted=wanted) == {}
    assert wrong(whole({"tool_calls": [damaged]}), wanted=wanted[:1]) == {
        "payload": "stock_level: part: HTML was escaped",
    }


def test_every_check_has_a_sentence() -> None:
    constants = {value for name, value in vars(names).items() if name.isupper() and isinstance(value, str)}
    assert constants == set(CHECKS)


def test_a_call_that_the_most_tokens_cut_is_no_damage() -> None:
    """The server can do nothing about it; what came whole before it is held to all."""
    half = called(arguments='{"part": "AB', id_="call_2")
    assert wrong(whole({"content": None, "tool_calls": [called(), half]}, "length")) == {}
    assert set(wrong(whole({"content": None, "tool_calls": [half, called()]}, "length"))) == {"arguments-text"}
    assert set(wrong(whole({"content": None, "tool_calls": [called(), half]}))) == {"arguments-text"}
    assert set(wrong(whole({"content": None, "tool_calls": [called(arguments='{"part": 7}')]}, "length"))) == {
        "arguments-schema"
    }
