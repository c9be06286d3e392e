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


NAMED = {"type": "function", "function": {"name": "get_weather"}}


def ask(settings: Settings = SETTINGS, **more: Any) -> Asked:
    content = {"messages": [{"role": "user", "content": "Say something, please."}], "max_tokens": 8, **more}
    return decide_chat(content, settings, ("flagship",))


def body(path: Path) -> str:
    return path.read_text().partition("\n\n")[2]


def events(text: str) -> list[Any]:
    parts = [part.removeprefix("data: ") for part in text.split("\n\n") if part.strip()]
    return [part if part == "[DONE]" else json.loads(part) for part in parts]


def played(stream: Stream, choices: int, length: int) -> list[Any]:
    """Every event of a stream, all choices keeping step."""
    out = stream.opening()
    for at in range(length):
        out += b"".join(stream.token(choice, at) for choice in range(choices))
    return events((out + stream.ending(choices * length)).decode())


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


def test_a_stream_without_a_visible_token_has_the_captured_events(vllm: Path) -> None:
    """The captured model said nothing that can be read: its first, last and usage events were all there was."""
    captured = events(body(vllm / "chat_stream.txt"))
    asked = ask(stream=True, stream_options={"include_usage": True})
    ours = played(ChatStream(asked, IDENTITY, "x"), 1, 8)
    assert ours[0] == captured[0]
    assert {**ours[-3]["choices"][0], "delta": {}} == captured[1]["choices"][0]
    assert keys(ours[-2]) == keys(captured[2])
    assert ours[-2]["usage"]["completion_tokens"] == 8
    assert ours[-1] == captured[3] == "[DONE]"


def test_two_choices_with_usage_on_every_event_have_the_captured_shapes(vllm: Path) -> None:
    captured = events(body(vllm / "chat_stream_two_choices.txt"))
    options = {"include_usage": True, "continuous_usage_stats": True}
    ours = played(ChatStream(ask(n=2, max_tokens=3, stream_options=options), IDENTITY, "x"), 2, 3)
    assert [keys(event) for event in ours[:2]] == [keys(event) for event in captured[:2]]
    # Which choice gets its token first is chance, and one of theirs got two tokens in one event.
    assert {str(keys(event)) for event in ours[2:]} == {str(keys(event)) for event in captured[2:]}
    counts = [event["usage"]["completion_tokens"] for event in ours[:-1]]
    assert counts == [0, 0, 1, 1, 2, 2, 3, 3, 6]


def test_every_token_is_an_event_and_the_last_one_ends_the_answer() -> None:
    asked = ask(stream=True)
    ours = played(ChatStream(asked, IDENTITY, "x"), 1, 8)
    choices = [event["choices"][0] for event in ours[1:-1]]
    assert [choice["delta"]["content"] for choice in choices] == list(asked.tokens)
    assert [choice["finish_reason"] for choice in choices] == [None] * 7 + ["length"]
    assert ours[-2]["system_fingerprint"] == shapes.FINGERPRINT
    assert "system_fingerprint" not in ours[-3]


def test_a_whole_answer_has_every_choice() -> None:
    assert [choice["index"] for choice in shapes.chat(ask(n=2), IDENTITY, "x")["choices"]] == [0, 1]


def test_reasoning_has_a_field_of_its_own() -> None:
    settings = Settings(served_names=("flagship",), simulation=Simulation(reasoning_tokens=3))
    asked = ask(settings)
    message = shapes.chat(asked, IDENTITY, "x")["choices"][0]["message"]
    assert message["reasoning"] == "".join(asked.tokens[:3])
    assert message["content"] == "".join(asked.tokens[3:])
    deltas = [event["choices"][0]["delta"] for event in played(ChatStream(asked, IDENTITY, "x"), 1, 8)[1:-1]]
    assert [list(delta) for delta in deltas] == [["reasoning"]] * 3 + [["content"]] * 5


def test_a_one_token_probe_of_a_reasoning_model_reads_empty_and_counts_one() -> None:
    settings = Settings(served_names=("flagship",), simulation=Simulation(reasoning_tokens=3))
    answer = shapes.chat(ask(settings, max_tokens=1), IDENTITY, "x")
    assert answer["choices"][0]["message"]["content"] == ""
    assert answer["usage"]["completion_tokens"] == 1


def test_a_streamed_tool_call_has_the_captured_shapes_and_reassembles(vllm: Path) -> None:
    captured = events(body(vllm / "tool_named_stream.txt"))
    tool = {"type": "function", "function": {"name": "get_weather", "parameters": {"required": ["a", "b"]}}}
    asked = ask(tools=[tool], tool_choice=NAMED, max_tokens=100)
    ours = played(ChatStream(asked, IDENTITY, "call-1"), 1, len(asked.tokens))
    assert [keys(event) for event in (*ours[:3], ours[-2])] == [keys(event) for event in (*captured[:3], captured[-2])]
    assert ours[-2]["choices"][0]["finish_reason"] == captured[-2]["choices"][0]["finish_reason"] == "stop"
    deltas = [event["choices"][0]["delta"]["tool_calls"][0]["function"] for event in ours[1:-2]]
    call = shapes.chat(asked, IDENTITY, "call-1")["choices"][0]["message"]["tool_calls"][0]
    assert (deltas[0], call["id"]) == ({"name": "get_weather"}, "call-1")
    assert "".join(delta["arguments"] for delta in deltas[1:]) == call["function"]["arguments"]
    assert json.loads(call["function"]["arguments"]) == {"a": None, "b": None}


def test_a_call_that_nobody_named_ends_in_tool_calls_and_a_cut_one_in_length() -> None:
    assert ask(tools=[TOOL], tool_choice="required").finish == "tool_calls"
    long = {"type": "function", "function": {"name": "f", "parameters": {"required": ["some_long_name"] * 9}}}
    assert ask(tools=[long], tool_choice="required", max_tokens=1).finish == "length"


def test_completions_have_the_captured_shapes(vllm: Path) -> None:
    options = {"include_usage": True}
    content = {"prompt": "hello", "max_tokens": 12, "stream_options": options, "stream": True}
    asked = decide_completion(content, SETTINGS, ("flagship",))
    whole = shapes.completion(asked, IDENTITY)
    assert keys(whole) == keys(json.loads(body(vllm / "completion.txt")))
    ours = played(CompletionStream(asked, IDENTITY), 1, 12)
    captured = events(body(vllm / "completion_stream.txt"))
    assert [keys(event) for event in ours] == [keys(event) for event in captured]
    assert "".join(event["choices"][0]["text"] for event in ours[:-2]) == whole["choices"][0]["text"]


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
