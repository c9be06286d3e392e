"""Anthropic's Messages and OpenAI's Responses: shapes as captured, and that streamed and whole agree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from floor.sim import messages, responses
from floor.sim.settings import Settings
from floor.sim.shapes import Identity
from floor.sim.streams import Stream

IDENTITY = Identity("id-1", 1796007770)
SETTINGS = Settings(served_names=("flagship",), auto_tools=True)


def events(text: str) -> list[dict[str, Any]]:
    """The content of each event, whose name must be its type."""
    found = []
    for part in text.split("\n\n")[:-1]:
        name, _, data = part.strip().partition("\n")
        content = json.loads(data.removeprefix("data: "))
        assert content["type"] == name.removeprefix("event: ")
        found.append(content)
    return found


def played(stream: Stream, length: int) -> list[dict[str, Any]]:
    out = stream.opening() + b"".join(stream.token(0, at) for at in range(length)) + stream.ending(length)
    return events(out.decode())


def captured(path: Path) -> str:
    return path.read_text().partition("\n\n")[2]


def shape(value: Any) -> Any:
    """Keys and the types below them."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    return [shape(inner) for inner in value] if isinstance(value, list) else type(value).__name__


def test_a_message_is_as_captured_whole_and_streamed(vllm: Path) -> None:
    content = {"max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}
    asked = messages.decide(content, SETTINGS, ("flagship",))
    whole, streamed = messages.whole(asked, IDENTITY, "call-1"), played(messages.MessageStream(asked, IDENTITY, "x"), 5)
    assert shape(whole) == shape(json.loads(captured(vllm / "message.txt")))
    theirs = events(captured(vllm / "message_stream.txt"))
    assert [(event["type"], shape(event)) for event in streamed] == [(event["type"], shape(event)) for event in theirs]
    text = "".join(event["delta"]["text"] for event in streamed if event["type"] == "content_block_delta")
    assert whole["content"] == [{"type": "text", "text": text}]
    assert whole["stop_reason"] == streamed[-2]["delta"]["stop_reason"] == "max_tokens"
    assert whole["usage"] == streamed[-2]["usage"]


def test_a_message_says_why_it_ended() -> None:
    content = {"max_tokens": 500, "messages": [{"role": "user", "content": "hi"}]}
    asked = messages.decide(content, SETTINGS, ("flagship",))
    assert messages.whole(asked, IDENTITY, "x")["stop_reason"] == "end_turn"
    stop = asked.tokens[5].strip()
    stopped = messages.whole(
        messages.decide({**content, "stop_sequences": [stop]}, SETTINGS, ("flagship",)), IDENTITY, "x"
    )
    assert (stopped["stop_reason"], stopped["stop_sequence"]) == ("stop_sequence", stop)


def test_the_system_text_counts_and_matters() -> None:
    content = {"max_tokens": 3, "messages": [{"role": "user", "content": "hi"}]}
    plain = messages.decide(content, SETTINGS, ("flagship",))
    told = messages.decide({**content, "system": "Be brief."}, SETTINGS, ("flagship",))
    assert told.prompt_tokens > plain.prompt_tokens
    assert told.tokens != plain.tokens


def test_a_tool_use_streams_the_same_input() -> None:
    schema = {"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}}
    content = {
        "max_tokens": 30,
        "messages": [{"role": "user", "content": "hi"}],
        "tools": [{"name": "get_weather", "input_schema": schema}],
        "tool_choice": {"type": "any"},
    }
    asked = messages.decide(content, SETTINGS, ("flagship",))
    whole = messages.whole(asked, IDENTITY, "call-1")
    block = {"type": "tool_use", "id": "call-1", "name": "get_weather", "input": {"city": "text"}}
    assert (whole["content"], whole["stop_reason"]) == ([block], "tool_use")
    events = played(messages.MessageStream(asked, IDENTITY, "call-1"), len(asked.tokens))
    said = "".join(event["delta"]["partial_json"] for event in events if event["type"] == "content_block_delta")
    assert json.loads(said) == block["input"]


def test_these_have_one_choice_whatever_is_asked() -> None:
    asked = [{"role": "user", "content": "hi"}]
    assert messages.decide({"max_tokens": 3, "messages": asked, "n": 2}, SETTINGS, ("flagship",)).choices == 1
    assert responses.decide({"input": asked, "n": 2}, SETTINGS, ("flagship",)).choices == 1


def test_a_named_tool_or_none_can_be_chosen() -> None:
    content = {
        "max_tokens": 30,
        "messages": [{"role": "user", "content": "hi"}],
        "tools": [{"name": "a"}, {"name": "b"}],
    }
    chosen = messages.decide({**content, "tool_choice": {"type": "tool", "name": "b"}}, SETTINGS, ("flagship",))
    assert chosen.call is not None
    assert chosen.call.name == "b"
    assert messages.decide({**content, "tool_choice": {"type": "none"}}, SETTINGS, ("flagship",)).call is None


def test_a_response_is_as_captured_whole_and_streamed(vllm: Path) -> None:
    asked = responses.decide({"input": "hi", "max_output_tokens": 5}, SETTINGS, ("flagship",))
    whole, streamed = responses.whole(asked, IDENTITY, "1"), played(responses.ResponseStream(asked, IDENTITY, "1"), 5)
    assert shape(whole) == shape(json.loads(captured(vllm / "response.txt")))
    theirs = events(captured(vllm / "response_stream.txt"))
    assert [(event["type"], shape(event)) for event in streamed] == [(event["type"], shape(event)) for event in theirs]
    assert [event["sequence_number"] for event in streamed] == list(range(13))
    said = "".join(event["delta"] for event in streamed if event["type"] == "response.output_text.delta")
    assert said == streamed[9]["text"] == "".join(asked.tokens)
    assert streamed[-1]["response"] == whole


def test_a_response_that_ends_by_itself_is_completed() -> None:
    asked = responses.decide({"input": [{"role": "user", "content": "hi"}]}, SETTINGS, ("flagship",))
    whole = responses.whole(asked, IDENTITY, "1")
    assert (whole["status"], whole["incomplete_details"]) == ("completed", None)
