"""The contract of each call in an answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..wire import strict
from ..wire.answer import MISSING, Answer, Call
from . import markers, names, payload
from .schema import Schema, misfits

Wanted = Sequence[tuple[str, Mapping[str, Any]]]
Held = Iterator[tuple[str, str]]


def arguments(call: Call) -> dict[str, Any] | None:
    """The arguments as a strict client reads them; None where they are no text that is one JSON object."""
    if call.tangled or not isinstance(call.arguments, str):
        return None
    try:
        found = strict.loads(call.arguments)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def check(answer: Answer, tools: Mapping[str, Schema], said: str, wanted: Wanted) -> Held:
    """Yield (check, what is wrong or "") for the calls of an answer, as often as a check applied.

    `said` is all text of the request: what it says itself is no mark. `wanted` are (tool, arguments) of the scenario.
    """
    if answer.calls:
        yield names.IDS, _ids(answer.calls)
    for call in answer.calls:
        if not call.tangled:
            cut = answer.finish == "length" and call is answer.calls[-1]
            yield from _call(call, tools, said, wanted, cut=cut)


def _ids(calls: Sequence[Call]) -> str:
    for call in calls:
        if not isinstance(call.id, str) or not call.id.strip():
            return f"a call of {_name(call)} has {'no id' if call.id is MISSING else f'the id {call.id!r}'}"
    found = [call.id for call in calls]
    return "" if len(set(found)) == len(found) else f"calls share an id: {', '.join(found)}"


def _name(call: Call) -> str:
    return call.name if isinstance(call.name, str) and call.name else "a tool without a name"


def _call(call: Call, tools: Mapping[str, Schema], said: str, wanted: Wanted, *, cut: bool) -> Held:
    """`cut`: it is the last call of an answer that came to the most tokens, which no server can make whole."""
    schema = tools.get(call.name) if isinstance(call.name, str) else None
    name_mark = markers.found(_name(call), said)
    yield names.MARKS_IN_VALUES, f"the tool's name holds {name_mark}: {call.name!r}" if name_mark else ""
    if not name_mark:
        yield names.TOOL_KNOWN, "" if schema is not None else f"{_name(call)} was not offered"
    if schema is None:
        return
    text_check = names.EMPTY_ARGUMENTS if not schema.get("properties") else names.ARGUMENTS_TEXT
    found = arguments(call)
    if found is None and cut:
        return
    if found is None:
        yield text_check, f"arguments of {call.name} are {_shown(call.arguments)}"
        return
    yield text_check, ""
    mark = markers.found(json.dumps(found, ensure_ascii=False), said, thoughts=False)
    yield names.MARKS_IN_VALUES, f"arguments of {call.name} hold {mark}" if mark else ""
    wrong = "; ".join(misfits(found, schema))
    yield names.ARGUMENTS_SCHEMA, f"{call.name}: {wrong}" if wrong else ""
    yield from _payload(call.name, found, wanted)


def _payload(tool: str, found: Mapping[str, Any], wanted: Wanted) -> Held:
    """Damage, told against the wanted call of that tool that is nearest: none, if one of them has no damage."""
    damages = ["; ".join(payload.damages(args, found)) for name, args in wanted if name == tool]
    if damages:
        best = min(damages, key=len)
        yield names.PAYLOAD, f"{tool}: {best}" if best else ""


def _shown(value: Any) -> str:
    if value is MISSING:
        return "absent"
    if not isinstance(value, str):
        return f"no text but {json.dumps(value)[:60]}"
    return "an empty text" if not value else f"no JSON object: {value if len(value) < 90 else '…' + value[-80:]}"
