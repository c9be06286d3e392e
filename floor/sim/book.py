"""Answers by the book: a file says what a model that calls tools does in each conversation that it knows.

The file is JSON: `scenarios`, each with `turns` (a pattern of what the user says, and the steps that follow), `values`
(names and patterns of what differs each time), `numbers` (which of them are numbers), and `learn`: texts with `${name}`
in the place of values, in the order in which they are learned from the messages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from floor.errors import UsageError

_PLACE = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True)
class Played:
    """What the book answers: words, or calls as (name, arguments)."""

    words: str
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()


@dataclass(frozen=True)
class _Scene:
    learn: Sequence[str]
    values: Mapping[str, str]
    numbers: frozenset[str]
    turns: tuple[tuple[re.Pattern[str], Sequence[Mapping[str, Any]]], ...]


class Book:
    """An answer book. Given the messages of a request it knows the next step, or None where it knows nothing."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self._scenes = [
            _Scene(
                scene["learn"],
                scene["values"],
                frozenset(scene["numbers"]),
                tuple((re.compile(turn["user"]), turn["steps"]) for turn in scene["turns"]),
            )
            for scene in content["scenarios"]
        ]

    def next(self, messages: Sequence[Mapping[str, Any]]) -> Played | None:
        """The next step of the conversation."""
        asked = [_text(message) for message in messages if message.get("role") == "user"]
        for scene in self._scenes:
            for turn, (pattern, steps) in enumerate(scene.turns):
                begun = turn == 0 or any(scene.turns[0][0].fullmatch(text) for text in asked[:-1])
                if asked and begun and pattern.fullmatch(asked[-1]):
                    return _step(scene, steps, messages)
        return None


def load(path: str) -> Book:
    """Read a book. Raises UsageError where the file cannot be read as one."""
    try:
        return Book(json.loads(Path(path).read_text("utf-8")))
    except (OSError, ValueError, KeyError, TypeError, re.error) as error:
        raise UsageError(f"{path}: cannot be read as an answer book: {error}") from None


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else ""


def _step(scene: _Scene, steps: Sequence[Mapping[str, Any]], messages: Sequence[Mapping[str, Any]]) -> Played:
    values: dict[str, str | int] = {}
    for text in scene.learn:
        pattern = re.compile(_pattern(text, scene.values, values))
        found = next((match for message in messages if (match := pattern.search(_text(message)))), None)
        if found:
            values |= {k: int(v) if k in scene.numbers else v for k, v in found.groupdict().items()}
    last = max(at for at, message in enumerate(messages) if message.get("role") == "user")
    done = sum(message.get("role") == "assistant" for message in messages[last:])
    step = steps[min(done, len(steps) - 1)]
    if "calls" in step:
        return Played("", tuple((call["name"], _fill(call["arguments"], values)) for call in step["calls"]))
    return Played(str(_fill(f"{step['say']} ", values)).strip())


def _pattern(text: str, patterns: Mapping[str, str], known: Mapping[str, str | int]) -> str:
    """`text` as a pattern: values that are known already as they are, the others captured."""
    parts, seen = [], set[str]()
    for at, piece in enumerate(_PLACE.split(text)):
        if at % 2 == 0 or piece in known:
            parts.append(re.escape(str(known.get(piece, piece)) if at % 2 else piece))
        else:
            parts.append(f"(?P={piece})" if piece in seen else f"(?P<{piece}>{patterns[piece]})")
            seen.add(piece)
    return "".join(parts)


def _fill(template: Any, values: Mapping[str, str | int]) -> Any:
    if isinstance(template, str):
        whole = _PLACE.fullmatch(template)
        if whole and whole[1] in values:
            return values[whole[1]]
        return _PLACE.sub(lambda found: str(values.get(found[1], found[0])), template)
    if isinstance(template, Mapping):
        return {key: _fill(value, values) for key, value in template.items()}
    return [_fill(one, values) for one in template] if isinstance(template, list) else template
