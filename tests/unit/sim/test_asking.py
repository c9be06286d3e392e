"""What a request asks for, and the refusals vLLM has for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floor.sim import dialects
from floor.sim.asking import Asked, decide_chat, decide_completion
from floor.sim.refusals import _FIELDS, Refusal, read_json
from floor.sim.settings import Settings, Simulation

SETTINGS = Settings(served_names=("flagship", "fast"), max_model_len=2048, auto_tools=True)
TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}


def chat(settings: Settings = SETTINGS, text: str = "hello there", **more: Any) -> Asked:
    content = {"model": "flagship", "messages": [{"role": "user", "content": text}], **more}
    return decide_chat(content, settings, settings.served_names)


TEXT = {"messages": [{"role": "user", "content": "x"}]}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("wrong_model", TEXT | {"model": "nope"}),
        ("too_long", {"messages": [{"role": "user", "content": "x" * 10_000}]}),
        ("no_messages", {"model": "flagship"}),
        ("empty_messages", {"messages": []}),
        ("max_tokens_zero", TEXT | {"max_tokens": 0}),
        ("max_tokens_beyond_context", TEXT | {"max_tokens": 3000}),
        ("max_tokens_word", TEXT | {"max_tokens": "many"}),
        ("no_choices", TEXT | {"n": 0}),
        ("min_above_max_tokens", TEXT | {"max_tokens": 3, "min_tokens": 5}),
        ("tools_word", TEXT | {"tools": "all"}),
        ("tool_unknown", TEXT | {"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "nope"}}}),
    ],
)
def test_what_a_real_vllm_refuses_is_refused_in_its_words(vllm: Path, name: str, content: dict[str, Any]) -> None:
    head, _, body = (vllm / f"{name}.txt").read_text().partition("\n\n")
    settings = Settings(served_names=("flagship",), max_model_len=2048, auto_tools=True)
    with pytest.raises(Refusal) as caught:
        decide_chat(content, settings, settings.served_names)
    assert str(caught.value.status) in head.splitlines()[0]
    assert {"error": caught.value.error} == json.loads(body)


@pytest.mark.parametrize(("name", "sent"), [("bad_json", b"{bad json"), ("list_body", b"[]")])
def test_a_body_that_a_real_vllm_refuses_is_refused_in_its_words(vllm: Path, name: str, sent: bytes) -> None:
    with pytest.raises(Refusal) as caught:
        read_json(sent)
    assert caught.value.status == 400
    assert {"error": caught.value.error} == json.loads((vllm / f"{name}.txt").read_text().partition("\n\n")[2])


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"max_completion_tokens": True}, "1 validation error:\n  {'type': 'int_type'"),
        ({"max_tokens": -1}, "max_tokens must be at least 1, got -1. (parameter=max_tokens, value=-1)"),
        ({"n": "two"}, "1 validation error:\n  {'type': 'int_parsing', 'loc': 'body.n'"),
        ({"n": 1000}, "n must be at most 128, got 1000."),
        ({"min_tokens": -1}, "min_tokens must be greater than or equal to 0, got -1."),
        ({"messages": ["hello"]}, "1 validation error:\n  {'type': 'list_type', 'loc': 'body.messages'"),
        ({"stream_options": 3}, "1 validation error:\n  {'type': 'dict_type', 'loc': 'body.stream_options'"),
    ],
    ids=str,
)
def test_other_refusals(more: dict[str, Any], message: str) -> None:
    with pytest.raises(Refusal) as caught:
        chat(**more)
    assert caught.value.status == 400
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("body", [b'"text"', b"3", b"null", b"\xff\xfe{", b"[" * 100_000])
def test_a_body_that_is_no_object_is_refused(body: bytes) -> None:
    with pytest.raises(Refusal) as caught:
        read_json(body)
    assert caught.value.status == 400


def test_more_tokens_than_there_is_room_for_are_cut_to_the_room() -> None:
    """As vLLM 0.32 does: only more than the whole context is refused."""
    assert chat(text="x" * 4000, max_tokens=2000).max_tokens < 1050


RECURSIVE = {"$ref": "#/$defs/a", "$defs": {"a": {"type": "object", "required": ["a"], "properties": {"a": {}}}}}
RECURSIVE["$defs"]["a"]["properties"]["a"] = {"$ref": "#/$defs/a"}  # type: ignore[index]


@pytest.mark.parametrize("schema", [RECURSIVE, {"$ref": "#/nowhere"}, {"type": "object", "required": 3}, {"enum": 3}])
def test_a_schema_that_no_value_fits_is_refused(schema: dict[str, Any]) -> None:
    function = {"name": "f", "parameters": schema}
    with pytest.raises(Refusal, match="features not supported by xgrammar"):
        chat(tools=[{"type": "function", "function": function}], tool_choice="required")


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)),
    max_leaves=6,
)
fields = st.sampled_from([*_FIELDS, "prompt", "input", "max_output_tokens", "system", "stop_sequences"])


@given(st.dictionaries(fields, json_values, max_size=8), st.booleans())
def test_whatever_is_sent_is_either_decided_or_refused(content: dict[str, Any], usual: bool) -> None:
    """No request, however odd, is anything but an answer or a 4xx."""
    if usual:
        content |= {"messages": [{"role": "user", "content": "call a tool"}], "prompt": "hello", "model": "flagship"}
    for dialect in (dialects.CHAT, dialects.COMPLETION, dialects.MESSAGES, dialects.RESPONSES):
        try:
            asked = dialect.decide(content, SETTINGS, SETTINGS.served_names)
        except Refusal as refusal:
            assert 400 <= refusal.status < 500  # noqa: PT017  # both ways are fine
        else:
            assert asked.tokens


def test_auto_tools_need_their_flag() -> None:
    with pytest.raises(Refusal, match="requires --enable-auto-tool-choice"):
        chat(settings=Settings(served_names=("flagship",)), tools=[TOOL])


def test_an_answer_is_cut_at_max_tokens() -> None:
    asked = chat(max_tokens=7)
    assert (len(asked.tokens), asked.finish) == (7, "length")


def test_an_answer_ends_by_itself_within_its_natural_length() -> None:
    asked = chat()
    assert asked.finish == "stop"
    assert 40 <= len(asked.tokens) <= 160


def test_the_same_request_gets_the_same_answer_and_another_seed_another() -> None:
    other = Settings(served_names=("flagship",), simulation=Simulation(seed=1))
    assert chat().tokens == chat().tokens
    assert chat(settings=other).tokens != chat().tokens
    assert chat(seed=7).tokens != chat().tokens


def test_eos_can_be_ignored_and_a_least_length_asked() -> None:
    assert len(chat(ignore_eos=True, max_tokens=500).tokens) == 500
    assert chat(ignore_eos=True, max_tokens=500).finish == "length"
    assert len(chat(min_tokens=300).tokens) == 300


def test_a_stop_text_ends_the_answer_before_it() -> None:
    whole = "".join(chat().tokens)
    stop = whole.split(" ")[5]
    asked = chat(stop=["not there", stop])
    assert "".join(asked.tokens) == whole[: whole.index(stop)]
    assert (asked.finish, asked.stop_reason) == ("stop", stop)


def test_prompt_tokens_are_a_quarter_of_its_bytes() -> None:
    assert decide_completion({"prompt": "x" * 400}, SETTINGS, ("m",)).prompt_tokens == 100
    assert decide_completion({"prompt": [1, 2, 3]}, SETTINGS, ("m",)).prompt_tokens == 3
    assert decide_completion({"prompt": ["ab", "cdefgh"]}, SETTINGS, ("m",)).prompt_tokens == 2
    assert 100 <= chat(text="x" * 400).prompt_tokens <= 110


def test_a_completion_needs_a_prompt() -> None:
    with pytest.raises(Refusal, match=r"body\.prompt"):
        decide_completion({}, SETTINGS, ("m",))


def test_content_in_parts_is_read() -> None:
    parts = [{"type": "text", "text": "call "}, {"type": "text", "text": "get_weather"}]
    asked = decide_chat({"messages": [{"role": "user", "content": parts}], "tools": [TOOL]}, SETTINGS, ("flagship",))
    assert asked.call is not None
    assert "".join(asked.tokens) == asked.call.arguments == "{}"
    assert asked.finish == "tool_calls"


def test_after_a_tools_result_the_answer_is_words() -> None:
    history = [
        {"role": "user", "content": "call get_weather"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
        {"role": "tool", "tool_call_id": "1", "content": "get_weather: sunny"},
    ]
    assert decide_chat({"messages": history, "tools": [TOOL]}, SETTINGS, ("flagship",)).call is None


def test_reasoning_comes_first_and_may_be_all_there_is() -> None:
    settings = Settings(served_names=("flagship",), simulation=Simulation(reasoning_tokens=10))
    assert chat(settings=settings, max_tokens=1).reasoning == 1
    assert chat(settings=settings, max_tokens=30).reasoning == 10
