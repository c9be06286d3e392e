"""Anthropic's Messages and OpenAI's Responses: the order of their events, and that streamed and whole agree."""

from __future__ import annotations

import json
from typing import Any

from floor.sim import messages, responses
from floor.sim.settings import Settings
from floor.sim.shapes import Identity
from floor.sim.streams import Stream

IDENTITY = Identity("id-1", 1796007770)
SETTINGS = Settings(served_names=("flagship",), auto_tools=True)


def played(stream: Stream, length: int) -> list[dict[str, Any]]:
    out = stream.opening(0)
    out += b"".join(stream.token(0, at, at + 1) for at in range(length))
    out += stream.closing(0) + stream.ending(length)
    found = []
    for part in out.decode().split("\n\n")[:-1]:
        name, _, data = part.partition("\n")
        content = json.loads(data.removeprefix("data: "))
        assert content["type"] == name.removeprefix("event: ")
        found.append(content)
    return found


def test_a_message_streams_as_its_documentation_has_it() -> None:
    content = {"max_tokens": 3, "system": "Be brief.", "messages": [{"role": "user", "content": "hi"}]}
    asked = messages.decide(content, SETTINGS, ("flagship",))
    events = played(messages.MessageStream(asked, IDENTITY, "call-1"), 3)
    assert [event["type"] for event in events] == [
        "message_start",
        "content_block_start",
        *["content_block_delta"] * 3,
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    text = "".join(event["delta"]["text"] for event in events if event["type"] == "content_block_delta")
    whole = messages.whole(asked, IDENTITY, "call-1")
    assert whole["content"] == [{"type": "text", "text": text}]
    assert whole["stop_reason"] == events[-2]["delta"]["stop_reason"] == "max_tokens"
    assert whole["usage"] == events[-2]["usage"]


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


def test_a_response_streams_as_its_documentation_has_it() -> None:
    asked = responses.decide({"input": "hi", "max_output_tokens": 3}, SETTINGS, ("flagship",))
    events = played(responses.ResponseStream(asked, IDENTITY, "1"), 3)
    assert [event["type"] for event in events] == [
        "response.created",
        "response.output_item.added",
        "response.content_part.added",
        *["response.output_text.delta"] * 3,
        "response.output_text.done",
        "response.incomplete",
    ]
    assert [event["sequence_number"] for event in events] == list(range(8))
    assert "".join(event["delta"] for event in events[3:6]) == events[6]["text"] == "".join(asked.tokens)
    assert events[7]["response"] == responses.whole(asked, IDENTITY, "1")


def test_a_response_that_ends_by_itself_is_completed() -> None:
    asked = responses.decide({"input": [{"role": "user", "content": "hi"}]}, SETTINGS, ("flagship",))
    whole = responses.whole(asked, IDENTITY, "1")
    assert (whole["status"], whole["incomplete_details"]) == ("completed", None)
