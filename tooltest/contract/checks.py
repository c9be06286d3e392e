"""The contract of one exchange: what held and what did not. A fault is told once, where it shows first."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ..wire.answer import Answer
from ..wire.exchange import Exchange
from . import calls, markers, names
from .calls import Held, Wanted

_LOSES = (names.CALL_IN_CONTENT, names.CALL_IN_REASONING, names.TOOL_KNOWN)  # a call that shows there is told once
FEWEST_WORDS = 200  # below, the tokens of a chat template could hide a cut prompt


def check(exchange: Exchange, answer: Answer, *, own: bool, foreign: bool, wanted: Wanted) -> dict[str, str]:
    """Given an exchange and what it says, return each check that applied with what is wrong, "" where it held.

    `own`: the request carries calls that this server made. `foreign`: it carries those of another one.
    An exchange without any answer (refused, timed out) breaks no contract: {} is returned.
    """
    if exchange.status is None or (exchange.status == 200 and exchange.failure):
        return {}
    taken = names.OWN_CALL_ACCEPTED if own else names.HISTORY_ACCEPTED if foreign else names.ACCEPTED
    if exchange.status != 200:
        return {taken: exchange.said}
    found = {taken: ""}
    found[names.WELL_FORMED] = "; ".join(answer.malformed)
    if answer.malformed:
        return found
    for name, wrong in _held(exchange.request, answer, wanted):
        found[name] = found.get(name) or wrong
    if exchange.streamed and (answer.calls or answer.indexes):
        found[names.STREAM_INDEXES] = "; ".join(dict.fromkeys(answer.indexes))
    found.update(_agreement_of_choice(exchange.request, answer, found))
    return found


def _held(request: Mapping[str, Any], answer: Answer, wanted: Wanted) -> Held:
    tools = {tool["function"]["name"]: tool["function"].get("parameters", {}) for tool in request.get("tools", ())}
    said = _said(request)
    yield from _text(request, answer, tools, said)
    yield from calls.check(answer, tools, said, wanted)
    yield from _prompt(request, answer)


def _text(request: Mapping[str, Any], answer: Answer, tools: Mapping[str, Any], said: str) -> Held:
    places = [(names.CALL_IN_REASONING, answer.reasoning, False)]
    if request.get("tool_choice") != "none":  # a model that would call all the same may write what it likes
        places.append((names.CALL_IN_CONTENT, answer.content, True))
    for name, text, thoughts in places:
        if text:
            mark = markers.found(text, said, thoughts=thoughts)
            bare = markers.bare_call(text, tools)
            wrong = f"a call of {bare} as text" if bare else f"it holds {mark}: {_around(text, mark)}" if mark else ""
            yield name, wrong


def _prompt(request: Mapping[str, Any], answer: Answer) -> Held:
    """No tokeniser in use joins words over a blank, so a prompt has no fewer tokens than its messages have words."""
    words = sum(len(_content(message).split()) for message in request["messages"])
    if words >= FEWEST_WORDS and answer.prompt_tokens is not None:
        short = answer.prompt_tokens < words
        yield names.PROMPT_WHOLE, f"{answer.prompt_tokens} tokens were read of {words} words" if short else ""


def _agreement_of_choice(request: Mapping[str, Any], answer: Answer, found: Mapping[str, str]) -> dict[str, str]:
    """finish_reason and tool_choice; the latter only where no other fault has already lost the call."""
    choice = request.get("tool_choice", "auto")
    result = {}
    if answer.finish != "length":
        legal = {"tool_calls"} if answer.calls else {"stop"}
        if answer.calls and isinstance(choice, dict):
            legal.add("stop")  # as OpenAI's own answer to a tool that was asked for by name
        ends = answer.finish in legal
        result[names.FINISH] = "" if ends else f"finish_reason is {answer.finish!r} beside {len(answer.calls)} calls"
    lost = any(found.get(name) for name in _LOSES) or result.get(names.FINISH)
    if choice != "auto" or request.get("parallel_tool_calls") is False:
        wrong = _against(choice, request, answer)
        if not (wrong and lost) and answer.finish != "length":
            result[names.CHOICE] = wrong
    return result


def _against(choice: Any, request: Mapping[str, Any], answer: Answer) -> str:
    called = [str(call.name) for call in answer.calls]
    if choice == "none" and called:
        return f"tool_choice is none, and {', '.join(called)} was called"
    if choice == "required" and not called:
        return "tool_choice is required, and nothing was called"
    if isinstance(choice, dict):
        name = choice["function"]["name"]
        if not called or set(called) != {name}:
            return f"tool_choice names {name}, and {', '.join(called) or 'nothing'} was called"
    if request.get("parallel_tool_calls") is False and len(called) > 1:
        return f"parallel_tool_calls is false, and {len(called)} calls came at once"
    return ""


def _said(request: Mapping[str, Any]) -> str:
    return "\n".join([*map(_content, request["messages"]), *_called(request), json.dumps(request.get("tools", ()))])


def _called(request: Mapping[str, Any]) -> Iterator[str]:
    for message in request["messages"]:
        for call in message.get("tool_calls") or ():
            yield str(call["function"].get("arguments"))


def _content(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else ""


def _around(text: str, mark: str | None) -> str:
    at = text.find(mark or "")
    return repr(text[max(0, at - 20) : at + 60])
