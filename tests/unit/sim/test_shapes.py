"""Answers against those captured from a real vLLM: the same keys, in the same order, and the same constants."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from floor.sim import shapes
from floor.sim.asking import Asked, decide_chat, decide_completion
from floor.sim.settings import Settings, Simulation
from floor.sim.shapes import Identity
from floor.sim.streams import ChatStream, CompletionStream, Stream

IDENTITY = Identity("chatcmpl-8d4ef4b0a9f1a387", 1796007770)
SETTINGS = Settings(served_names=("flagship",), auto_tools=True)
TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}


def ask(settings: Settings = SETTINGS, **more: Any) -> Asked:
    content = {"messages": [{"role": "user", "content": "Say something, please."}], "max_tokens": 8, **more}
    return decide_chat(content, settings, ("flagship",))


def body(path: Path) -> str:
    return path.read_text().partition("\n\n")[2]


def events(text: str) -> list[Any]:
    parts = [part.removeprefix("data: ") for part in text.split("\n\n") if part.strip()]
    return [part if part == "[DONE]" else json.loads(part) for part in parts]


def played(stream: Stream, choices: int, length: int) -> list[Any]:
    """Every event of a stream, choice after choice."""
    out, generated = b"", 0
    for choice in range(choices):
        out += stream.opening(choice)
        for at in range(length):
            generated += 1
            out += stream.token(choice, at, generated)
        out += stream.closing(choice)
    return events((out + stream.ending(generated)).decode())


def keys(value: Any) -> Any:
    """The shape of a JSON value: keys in order, and what is below them; lists by their first element."""
    if isinstance(value, dict):
        return [(key, keys(inner)) for key, inner in value.items()]
    if isinstance(value, list):
        return [keys(inner) for inner in value[:1]]
    return value if value is None else type(value).__name__


def test_a_whole_chat_has_the_captured_shape(vllm: Path) -> None:
    captured = json.loads(body(vllm / "chat.txt"))
    ours = shapes.chat(ask(), IDENTITY, "chatcmpl-tool-1")
    assert keys(ours) == keys(captured)
    assert ours["choices"][0]["finish_reason"] == captured["choices"][0]["finish_reason"] == "length"
    assert ours["system_fingerprint"] == captured["system_fingerprint"]
    assert ours["usage"]["completion_tokens"] == 8


def test_a_streams_first_last_and_usage_events_are_the_captured_ones(vllm: Path) -> None:
    captured = events(body(vllm / "chat_stream.txt"))
    asked = ask(stream=True, stream_options={"include_usage": True})
    ours = played(ChatStream(asked, IDENTITY, "x"), 1, 8)
    opening, closing, usage, done = ours[0], ours[-3], ours[-2], ours[-1]
    assert [opening, closing] == captured[:2]
    assert keys(usage) == keys(captured[2])
    assert usage["usage"]["completion_tokens"] == 8
    assert usage["choices"] == []
    assert done == captured[3] == "[DONE]"


def test_between_them_there_is_an_event_a_token() -> None:
    asked = ask(stream=True)
    ours = played(ChatStream(asked, IDENTITY, "x"), 1, 8)
    texts = [event["choices"][0]["delta"]["content"] for event in ours[1:-2]]
    assert texts == list(asked.tokens)
    assert ours[-1] == "[DONE]"


def test_each_choice_opens_and_closes() -> None:
    ours = played(ChatStream(ask(n=2), IDENTITY, "x"), 2, 8)
    indexes = [event["choices"][0]["index"] for event in ours[:-1]]
    assert indexes == [0] * 10 + [1] * 10
    assert [choice["index"] for choice in shapes.chat(ask(n=2), IDENTITY, "x")["choices"]] == [0, 1]


def test_usage_with_every_event_when_asked_for() -> None:
    asked = ask(stream_options={"continuous_usage_stats": True})
    ours = played(ChatStream(asked, IDENTITY, "x"), 1, 8)
    assert [event["usage"]["completion_tokens"] for event in ours[1:-2]] == list(range(1, 9))


def test_reasoning_has_a_field_of_its_own() -> None:
    settings = Settings(served_names=("flagship",), simulation=Simulation(reasoning_tokens=3))
    asked = ask(settings)
    message = shapes.chat(asked, IDENTITY, "x")["choices"][0]["message"]
    assert message["reasoning"] == "".join(asked.tokens[:3])
    assert message["content"] == "".join(asked.tokens[3:])
    deltas = [event["choices"][0]["delta"] for event in played(ChatStream(asked, IDENTITY, "x"), 1, 8)[1:-2]]
    assert [list(delta) for delta in deltas] == [["reasoning"]] * 3 + [["content"]] * 5


def test_a_one_token_probe_of_a_reasoning_model_reads_empty_and_counts_one() -> None:
    settings = Settings(served_names=("flagship",), simulation=Simulation(reasoning_tokens=3))
    answer = shapes.chat(ask(settings, max_tokens=1), IDENTITY, "x")
    assert answer["choices"][0]["message"]["content"] == ""
    assert answer["usage"]["completion_tokens"] == 1


def test_a_streamed_tool_call_reassembles_to_the_whole_one() -> None:
    tool = {**TOOL, "function": {**TOOL["function"], "parameters": {"required": ["a", "b"], "type": "object"}}}  # type: ignore[dict-item]
    asked = ask(tools=[tool], tool_choice="required", max_tokens=100)
    call = shapes.chat(asked, IDENTITY, "call-1")["choices"][0]["message"]["tool_calls"][0]
    ours = played(ChatStream(asked, IDENTITY, "call-1"), 1, len(asked.tokens))
    deltas = [event["choices"][0]["delta"]["tool_calls"][0] for event in ours[1:-2]]
    assert (deltas[0]["id"], deltas[0]["function"]["name"]) == (call["id"], "get_weather")
    assert "".join(delta["function"]["arguments"] for delta in deltas) == call["function"]["arguments"]
    assert json.loads(call["function"]["arguments"]) == {"a": None, "b": None}
    assert ours[-2]["choices"][0]["finish_reason"] == "tool_calls"


def test_a_completions_last_token_carries_the_end() -> None:
    asked = decide_completion({"prompt": "hi", "max_tokens": 3}, SETTINGS, ("flagship",))
    ours = played(CompletionStream(asked, IDENTITY), 1, 3)
    assert [event["choices"][0]["finish_reason"] for event in ours[:-1]] == [None, None, "length"]
    assert "".join(event["choices"][0]["text"] for event in ours[:-1]) == "".join(asked.tokens)
    assert shapes.completion(asked, IDENTITY)["choices"][0]["text"] == "".join(asked.tokens)


def test_the_model_list_has_the_captured_shape(vllm: Path) -> None:
    captured = json.loads((vllm / "models.json").read_text())
    ours = shapes.models(("flagship",), "tiny", 2048, captured["data"][0]["created"], "be62e063e7f3d42c")
    assert shapes.encode(ours).decode() == (vllm / "models.json").read_text()


def test_every_served_name_is_listed() -> None:
    listed = shapes.models(("flagship", "fast"), "/models/x", 2048, 1, "p")["data"]
    assert [(entry["id"], entry["root"]) for entry in listed] == [("flagship", "/models/x"), ("fast", "/models/x")]


@pytest.mark.parametrize("text", ["ä", "\u2028", '"', "\n"])
def test_an_event_is_one_line_whatever_is_in_it(text: str) -> None:
    written = shapes.event({"text": text})
    assert written.startswith(b"data: ")
    assert written.count(b"\n") == 2
    assert json.loads(written[6:]) == {"text": text}
