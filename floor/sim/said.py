"""An answer that the book gives, as it goes over the wire: pieces of text and of calls, each of which can be spoilt."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from floor.sim.book import Played
from floor.sim.wording import split_tokens, words

JsonObject = dict[str, Any]
ABSENT = object()


@dataclass
class Spoken:
    """A call as it is sent. ABSENT fields are left out. `arguments` is JSON text, unless it was spoilt."""

    id: Any
    name: Any
    arguments: Any
    index: Any

    def fields(self) -> JsonObject:
        """As in a whole message."""
        function = _present({"name": self.name, "arguments": self.arguments})
        return _present({"id": self.id}) | {"type": "function", "function": function}

    def pieces(self) -> Iterator[JsonObject]:
        """As the deltas of a stream: the name first, then the arguments, a few characters each."""
        index = _present({"index": self.index})
        head = _present({"id": self.id}) | {"type": "function"} | index
        yield head | {"function": _present({"name": self.name})}
        if self.arguments is ABSENT:
            return
        texts = split_tokens(self.arguments) if isinstance(self.arguments, str) else [self.arguments]
        for text in texts or [""]:
            yield index | {"function": {"arguments": text}}


@dataclass
class Said:
    """`ends`: whether a stream ends with [DONE]."""

    content: str = ""
    reasoning: str = ""
    calls: list[Spoken] = field(default_factory=list)
    finish: str = "stop"
    ends: bool = True

    @classmethod
    def of(cls, played: Played, key: str, reasoning: int = 0) -> Said:
        """What was played, spoken without a fault. `key` makes the ids of its calls; `reasoning`: tokens of thought."""
        calls = [
            Spoken(f"chatcmpl-tool-{key}{at}", name, json.dumps(arguments, ensure_ascii=False), at)
            for at, (name, arguments) in enumerate(played.calls)
        ]
        thought = "".join(words(key, reasoning))
        return cls(played.words, thought, calls, "tool_calls" if calls else "stop")

    def message(self) -> JsonObject:
        """The message of a whole answer, in vLLM's shape."""
        message: JsonObject = {"role": "assistant", "content": self.content if self.content or not self.calls else None}
        message |= {"refusal": None, "annotations": None, "audio": None, "function_call": None}
        if self.calls:
            message["tool_calls"] = [call.fields() for call in self.calls]
        return message | {"reasoning": self.reasoning or None}

    def deltas(self) -> list[list[JsonObject]]:
        """The deltas of a stream, those of each token together; one token at least."""
        said: list[list[JsonObject]] = [[{"reasoning": text}] for text in re.findall(r"\S+\s*", self.reasoning)]
        said += [[{"content": text}] for text in split_tokens(self.content)]
        for call in self.calls:
            head, *rest = [{"content": None, "tool_calls": [piece]} for piece in call.pieces()]
            said += [[head, *rest[:1]], *([piece] for piece in rest[1:])]
        return said or [[{"content": ""}]]


def _present(fields: JsonObject) -> JsonObject:
    return {name: value for name, value in fields.items() if value is not ABSENT}
