"""A streamed answer: deltas put together by their index, as the API's description asks of a client."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from . import events, strict
from .answer import MISSING, Answer, Call, count, finish, reasoning, text, unfit
from .exchange import Exchange

DONE = b"[DONE]"


@dataclass
class _Part:
    """A call as far as it has come."""

    id: Any = MISSING
    name: Any = MISSING
    arguments: Any = MISSING
    tangled: bool = False


@dataclass
class _Reading:
    content: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    parts: list[_Part] = field(default_factory=list)
    by_index: dict[Any, _Part] = field(default_factory=dict)
    finish: str | None = None
    usage: Any = None
    malformed: list[str] = field(default_factory=list)
    indexes: list[str] = field(default_factory=list)
    first: int | None = None
    first_tool: int | None = None


def read(exchange: Exchange) -> Answer:
    """Given an exchange that was answered by a stream, return what it says; what is wrong with its form is in it."""
    found = events.read(exchange.body)
    state = _Reading()
    if not exchange.content_type.startswith("text/event-stream"):
        state.malformed.append(f"the stream's content type is {exchange.content_type or 'missing'!r}")
    done = False
    for event in found.events:
        if event.data.strip() == DONE:
            done = True
        elif done:
            state.malformed.append("an event follows [DONE]")
        else:
            _take(state, event)
    if not done:
        state.malformed.append("the stream ends without [DONE]")
    if found.tail:
        state.malformed.append(f"the stream ends within an event: {found.tail[:80]!r}")
    return _answer(state, exchange)


def _take(state: _Reading, event: events.Event) -> None:
    try:
        chunk = strict.loads(event.data)
    except ValueError as error:
        state.malformed.append(f"an event is no JSON{strict.why(error)}: {event.data[:80]!r}")
        return
    if not isinstance(chunk, Mapping):
        state.malformed.append("an event is no object")
        return
    if chunk.get("error"):
        state.malformed.append(f"an error in the stream: {json.dumps(chunk['error'])[:200]}")
    state.usage = chunk.get("usage") or state.usage
    choices = chunk.get("choices") or []
    if not isinstance(choices, list) or not all(isinstance(choice, Mapping) for choice in choices):
        state.malformed.append("choices are no list of objects")
        return
    for choice in choices:
        if choice.get("index", 0) == 0:
            state.malformed += unfit(choice.get("finish_reason"))
            state.finish = finish(choice.get("finish_reason")) or state.finish
            _delta(state, choice.get("delta") or {}, event.end)


def _delta(state: _Reading, delta: Any, end: int) -> None:
    if not isinstance(delta, Mapping):
        state.malformed.append("a delta is no object")
        return
    said, thought = text(delta.get("content")), reasoning(delta)
    called = delta.get("tool_calls") or []
    if not isinstance(called, list):
        state.malformed.append("tool_calls is no list")
        return
    if not isinstance(delta.get("content"), str | list | None):
        state.malformed.append(f"content is of type {type(delta['content']).__name__}")
    state.content.append(said)
    state.reasoning.append(thought)
    if state.first is None and (said or thought or called):
        state.first = end
    for one in called:
        if state.first_tool is None:
            state.first_tool = end
        if isinstance(one, Mapping):
            _piece(state, one)
        else:
            state.malformed.append("a tool call's delta is no object")


def _piece(state: _Reading, one: Mapping[str, Any]) -> None:
    """One piece of a call: to the part of its index, or, where that cannot be, to a part of its own that is tangled."""
    function = one.get("function")
    function = function if isinstance(function, Mapping) else {}
    index = one.get("index")
    numbered = isinstance(index, int) and not isinstance(index, bool)
    part, tangled = state.by_index.get(index) if numbered else None, not numbered
    if not numbered:
        state.indexes.append(f"a tool call's delta has the index {index!r}")
        part = state.parts[-1] if state.parts and not one.get("id") else None
    elif part is not None and _is_another(part, one, function):
        state.indexes.append(f"two calls share the index {index}")
        part.tangled = tangled = True
        part = None
    if part is None:
        part = _Part()
        state.parts.append(part)
        if numbered:
            state.by_index[index] = part
    part.tangled = part.tangled or tangled
    _join(part, one, function)


def _is_another(part: _Part, one: Mapping[str, Any], function: Mapping[str, Any]) -> bool:
    """Whether a piece belongs to another call than the one whose index it has: it brings another id or name."""
    new_id = bool(one.get("id")) and part.id not in (MISSING, None, "") and one["id"] != part.id
    new_name = bool(function.get("name")) and part.name not in (MISSING, None, "") and not one.get("id")
    return new_id or (new_name and part.arguments not in (MISSING, None, ""))


def _join(part: _Part, one: Mapping[str, Any], function: Mapping[str, Any]) -> None:
    if one.get("id") or (part.id is MISSING and "id" in one):
        part.id = one["id"]
    if function.get("name") or (part.name is MISSING and "name" in function):
        part.name = function["name"]
    if "arguments" not in function:
        return
    piece = function["arguments"]
    if isinstance(part.arguments, str) and isinstance(piece, str):
        part.arguments += piece
    elif piece is not None or part.arguments is MISSING:
        part.arguments = piece


def _answer(state: _Reading, exchange: Exchange) -> Answer:
    calls = tuple(Call(part.id, part.name, part.arguments, part.tangled) for part in state.parts)
    content = "".join(state.content)
    return Answer(
        content=content,
        reasoning="".join(state.reasoning),
        calls=calls,
        finish=state.finish,
        prompt_tokens=count(state.usage, "prompt_tokens"),
        completion_tokens=count(state.usage, "completion_tokens"),
        malformed=tuple(state.malformed),
        indexes=tuple(state.indexes),
        first_token=None if state.first is None else exchange.when(state.first),
        first_tool_byte=None if state.first_tool is None else exchange.when(state.first_tool),
        message={"role": "assistant", "content": content or None},
    )
