"""The answer book: what a perfect model does in every scenario, as data that a simulated engine plays from.

It holds no values of a run: what is said and what tools answer are templates that it learns them from, and its answers
are templates that use them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from . import nonces
from .filled import content, plain
from .scenario import Scenario, Turn

ANYTHING = r"[\s\S]*"


def book(scenarios: Sequence[Scenario]) -> dict[str, Any]:
    """Given scenarios, return the JSON of their answer book."""
    return {"scenarios": [_scenario(one) for one in scenarios]}


def _scenario(scenario: Scenario) -> dict[str, Any]:
    kinds = scenario.nonces
    return {
        "id": scenario.id,
        "values": {name: nonces.pattern(kind) for name, kind in kinds.items()},
        "numbers": [name for name, kind in kinds.items() if kind == "int"],
        "learn": [text for text in _texts(scenario) if nonces.PLACE.search(text)],
        "turns": [_turn(turn, kinds) for turn in scenario.turns],
    }


def _texts(scenario: Scenario) -> Iterator[str]:
    """Every text of the conversation in which a value can be found."""
    yield scenario.system
    for message in scenario.history:
        yield message.get("content") or ""
    for turn in scenario.turns:
        yield turn.user
        if turn.document:
            yield turn.document.needle
        for call in turn.calls:
            if isinstance(call.result, Mapping) and "$document" in call.result:
                yield call.result["$document"]["needle"]
            else:
                yield _numbers_bare(content(call.result), scenario.nonces)


def _numbers_bare(text: str, kinds: Mapping[str, str]) -> str:
    """The JSON text of a result, with the placeholders of numbers as they will stand: without quotes."""
    return re.sub(r'"\$\{(\w+)\}"', lambda found: _bare(found, kinds), text)


def _bare(found: re.Match[str], kinds: Mapping[str, str]) -> str:
    return "${" + found[1] + "}" if kinds.get(found[1]) == "int" else found[0]


def _pattern(text: str, kinds: Mapping[str, str]) -> str:
    """A regular expression for `text` with any values."""
    parts, seen = [], set[str]()
    for at, piece in enumerate(nonces.PLACE.split(text)):
        if at % 2 == 0:
            parts.append(re.escape(piece))
        elif piece in seen:
            parts.append(f"(?P={piece})")
        else:
            seen.add(piece)
            parts.append(f"(?P<{piece}>{nonces.pattern(kinds[piece])})")
    return "".join(parts)


def _turn(turn: Turn, kinds: Mapping[str, str]) -> dict[str, Any]:
    calls = [{"name": one.tool, "arguments": plain(one.args)} for one in turn.calls]
    steps: list[dict[str, Any]] = [{"calls": calls}] if turn.together else [{"calls": [call]} for call in calls]
    words = turn.reply or (f"Here it is: {', '.join(turn.says)}." if turn.says else "It is done.")
    pattern = _pattern(turn.user, kinds)
    return {"user": pattern + (ANYTHING if turn.document else ""), "steps": [*steps, {"say": words}]}


def text(scenarios: Sequence[Scenario]) -> str:
    """The book as a file holds it."""
    return json.dumps(book(scenarios), ensure_ascii=False, indent=1)
