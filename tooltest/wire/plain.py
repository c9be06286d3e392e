"""An answer in one piece."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import strict
from .answer import MISSING, Answer, Call, count, finish, reasoning, text, unfit
from .exchange import Exchange


def read(exchange: Exchange) -> Answer:
    """Given an exchange that was answered in one piece, return what it says; its form's faults are in `malformed`."""
    try:
        content = strict.loads(exchange.body)
    except ValueError as error:
        return Answer(malformed=(f"the body is no JSON{strict.why(error)}: {exchange.body[:80]!r}",))
    choices = content.get("choices") if isinstance(content, Mapping) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        return Answer(malformed=("there is no choice in the answer",))
    choice = choices[0]
    message = choice.get("message")
    if not isinstance(message, Mapping):
        return Answer(malformed=("the choice has no message",))
    usage = content.get("usage")
    return Answer(
        content=text(message.get("content")),
        reasoning=reasoning(message),
        calls=calls(message.get("tool_calls")),
        finish=finish(choice.get("finish_reason")),
        prompt_tokens=count(usage, "prompt_tokens"),
        completion_tokens=count(usage, "completion_tokens"),
        malformed=_faults(message, choice),
        message=message,
    )


def calls(listed: object) -> tuple[Call, ...]:
    """The calls of a message; none where there is no list."""
    return tuple(_call(one) for one in listed) if isinstance(listed, list) else ()


def _call(one: Any) -> Call:
    given = one if isinstance(one, Mapping) else {}
    function = given.get("function")
    function = function if isinstance(function, Mapping) else {}
    return Call(given.get("id", MISSING), function.get("name", MISSING), function.get("arguments", MISSING))


def _faults(message: Mapping[str, Any], choice: Mapping[str, Any]) -> tuple[str, ...]:
    faults = []
    if message.get("role") != "assistant":
        faults.append(f"the message's role is {message.get('role')!r}, not assistant")
    if not isinstance(message.get("tool_calls", []), list | None):
        faults.append("tool_calls is no list")
    if not isinstance(message.get("content"), str | list | None):
        faults.append(f"content is of type {type(message.get('content')).__name__}")
    return (*faults, *unfit(choice.get("finish_reason")))
