"""What a build, a parser or a template can do to a tool call: one function each. All change what is said in place."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from floor.sim.said import ABSENT, Said, Spoken

Request = Mapping[str, Any]
Spoil = Callable[[Said, Request], None]


def _as_text(said: Said, of: Callable[[Spoken], str]) -> str:
    text = "\n".join(of(call) for call in said.calls)
    said.calls, said.finish = [], "stop"
    return text


def _tagged(call: Spoken) -> str:
    return f'<tool_call>\n{{"name": "{call.name}", "arguments": {call.arguments}}}\n</tool_call>'


def _bare(call: Spoken) -> str:
    return f'{{"name": "{call.name}", "arguments": {call.arguments}}}'


def call_in_content(said: Said, request: Request) -> None:  # noqa: ARG001 - a Spoil
    if said.calls:
        said.content += _as_text(said, _tagged)


def bare_call_in_content(said: Said, request: Request) -> None:  # noqa: ARG001 - a Spoil
    if len(said.calls) == 1:
        said.content = _as_text(said, _bare)


def call_in_reasoning(said: Said, request: Request) -> None:  # noqa: ARG001 - a Spoil
    if said.calls:
        said.reasoning += _as_text(said, _tagged)


def tag_beside_call(said: Said, request: Request) -> None:  # noqa: ARG001 - a Spoil
    if said.calls:
        said.content += "</tool_call>"


def each(change: Callable[[Spoken], None]) -> Spoil:
    """A fault that meets every call that has arguments."""

    def spoil(said: Said, request: Request) -> None:  # noqa: ARG001 - a Spoil
        for call in said.calls:
            if call.arguments != "{}":
                change(call)

    return spoil


def _set(name: str, value: Any) -> Callable[[Spoken], None]:
    return lambda call: setattr(call, name, value)


def lost_brace(call: Spoken) -> None:
    call.arguments = call.arguments[:-1]


def arguments_as_object(call: Spoken) -> None:
    call.arguments = json.loads(call.arguments)


def repeated_arguments(call: Spoken) -> None:
    call.arguments *= 2


def empty(value: Any) -> Spoil:
    """A call without arguments comes with `value` in the place of the text {}."""

    def spoil(said: Said, request: Request) -> None:  # noqa: ARG001 - a Spoil
        for call in said.calls:
            if call.arguments == "{}":
                call.arguments = value

    return spoil


def same_ids(said: Said, request: Request) -> None:  # noqa: ARG001 - a Spoil
    for call in said.calls:
        call.id = "call_0"


def same_index(said: Said, request: Request) -> None:  # noqa: ARG001 - a Spoil
    for call in said.calls:
        call.index = 0


def no_index(said: Said, request: Request) -> None:  # noqa: ARG001 - a Spoil
    for call in said.calls:
        call.index = ABSENT


def finish_stop(said: Said, request: Request) -> None:
    if said.calls and not isinstance(request.get("tool_choice"), Mapping):
        said.finish = "stop"


def finish_without_call(said: Said, request: Request) -> None:  # noqa: ARG001 - a Spoil
    said.calls = []


def no_done(said: Said, request: Request) -> None:  # noqa: ARG001 - a Spoil
    said.ends = False


def values(change: Callable[[Any], Any]) -> Spoil:
    """A fault that meets the value of every argument, however deep."""

    def walk(value: Any) -> Any:
        if isinstance(value, dict):
            changed = change(value)
            return {key: walk(one) for key, one in value.items()} if changed is value else changed
        return [walk(one) for one in value] if isinstance(value, list) else change(value)

    def spoil(said: Said, request: Request) -> None:  # noqa: ARG001 - a Spoil
        for call in said.calls:
            arguments = {key: walk(value) for key, value in json.loads(call.arguments).items()}
            call.arguments = json.dumps(arguments, ensure_ascii=False)

    return spoil


def _text(change: Callable[[str], str]) -> Spoil:
    return values(lambda value: change(value) if isinstance(value, str) else value)


def _cut_at_tag(text: str) -> str:
    return text.split("</parameter>")[0]


def _wrong_digit(text: str) -> str:
    return re.sub(r"(?<=\d\d)\d(?=\D*$)", lambda found: str((int(found[0]) + 1) % 10), text)


def leaked_mark(said: Said, request: Request) -> None:  # noqa: ARG001 - a Spoil
    for call in said.calls:
        arguments = json.loads(call.arguments)
        for key in [key for key, value in arguments.items() if isinstance(value, str)][:1]:
            arguments[key] += "<|im_end|>"
        call.arguments = json.dumps(arguments, ensure_ascii=False)


def unknown_tool(said: Said, request: Request) -> None:  # noqa: ARG001 - a Spoil
    for call in said.calls:
        call.name = f"functions.{call.name}"


def ignores(choice: str) -> Spoil:
    """tool_choice (or parallel_tool_calls: false, as `parallel`) is passed over."""

    def spoil(said: Said, request: Request) -> None:
        asked = request.get("tool_choice")
        if choice == "none" and asked == "none":
            name = request["tools"][0]["function"]["name"]
            said.calls = [Spoken("chatcmpl-tool-none", name, json.dumps(_arguments(request["tools"][0])), 0)]
            said.content, said.finish = "", "tool_calls"
        elif (choice == "required" and asked == "required") or (choice == "named" and isinstance(asked, Mapping)):
            said.calls, said.content, said.finish = [], "It looks well.", "stop"
        elif choice == "parallel" and request.get("parallel_tool_calls") is False and said.calls:
            said.calls.append(Spoken("chatcmpl-tool-two", said.calls[0].name, said.calls[0].arguments, 1))

    return spoil


def _arguments(tool: Mapping[str, Any]) -> dict[str, str]:
    return dict.fromkeys(tool["function"]["parameters"].get("required", ()), "anything")


def silent(said: Said, request: Request) -> None:  # noqa: ARG001 - a Spoil
    said.calls, said.content, said.finish = [], "", "stop"


def words_only(said: Said, request: Request) -> None:  # noqa: ARG001 - a Spoil
    said.calls, said.content, said.finish = [], "I cannot do that.", "stop"


SPOILS: dict[str, Spoil] = {
    "call-in-content": call_in_content,
    "bare-call-in-content": bare_call_in_content,
    "call-in-reasoning": call_in_reasoning,
    "tag-beside-call": tag_beside_call,
    "lost-brace": each(lost_brace),
    "arguments-as-object": each(arguments_as_object),
    "arguments-twice": each(repeated_arguments),
    "arguments-lost": each(_set("arguments", "{}")),
    "empty-absent": empty(ABSENT),
    "empty-null": empty(None),
    "empty-text": empty(""),
    "empty-object": empty({}),
    "no-id": each(_set("id", ABSENT)),
    "empty-id": each(_set("id", "")),
    "same-ids": same_ids,
    "same-index": same_index,
    "no-index": no_index,
    "finish-stop": finish_stop,
    "finish-without-call": finish_without_call,
    "no-done": no_done,
    "boolean-as-text": values(lambda value: str(value).lower() if isinstance(value, bool) else value),
    "number-as-text": values(lambda v: str(v) if isinstance(v, int | float) and not isinstance(v, bool) else v),
    "object-as-text": values(lambda value: json.dumps(value) if isinstance(value, dict) else value),
    "null-as-text": values(lambda value: "null" if value is None else value),
    "cut-at-tag": _text(_cut_at_tag),
    "unescaped-html": _text(html.unescape),
    "escaped-html": _text(lambda text: html.escape(text, quote=False)),
    "latin-1": _text(lambda text: text.encode().decode("latin-1")),
    "backslashes-doubled": _text(lambda text: text.replace("\\", "\\\\")),
    "leaked-mark": leaked_mark,
    "unknown-tool": unknown_tool,
    "none-ignored": ignores("none"),
    "required-ignored": ignores("required"),
    "named-ignored": ignores("named"),
    "parallel-ignored": ignores("parallel"),
    "wrong-digit": _text(_wrong_digit),
    "silent": silent,
    "words-only": words_only,
}
# With those that are more than a change of what is said; floor/sim/tooling.py has them.
WHAT = (*SPOILS, "prompt-cut", "load", "state", "server-error", "refuses-own-call", "refuses-short-ids")
