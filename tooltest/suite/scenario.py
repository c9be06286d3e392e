"""A scenario as its file has it, placeholders and all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

KINDS = (
    "select", "args", "shapes", "payload", "parallel", "chain",
    "restraint", "clarify", "recover", "control", "history", "long",
)  # fmt: skip
QUICK = 2  # scenarios of each kind in the quick tier


@dataclass(frozen=True)
class Wanted:
    """A call that is wanted, and what the mock tool answers. In `args`, `{$like: x}` takes x in any case,
    `{$in: [x, y]}` either, `{$text: x}` x with a line end or without."""

    tool: str
    args: Mapping[str, Any]
    result: Any


@dataclass(frozen=True)
class Document:
    """Filler of about `tokens` tokens behind the user's words, with `needle` after the share `depth` of it."""

    tokens: int
    needle: str
    depth: float


@dataclass(frozen=True)
class Turn:
    """What the user says, and what is right then.

    `choice` and `parallel` go with the first request of the turn. `together`: all calls are to come in one answer.
    `until_called`: the turn ends with its calls, no words are wanted. Of the last answer's words: `says` are to be in
    it, of `says_any` one, of `never` none; `reply` is what a perfect model says.
    """

    user: str
    calls: tuple[Wanted, ...] = ()
    document: Document | None = None
    choice: Any = "auto"
    parallel: bool = True
    together: bool = False
    until_called: bool = False
    says: tuple[str, ...] = ()
    says_any: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    reply: str = ""


@dataclass(frozen=True)
class Scenario:
    """`tools` are the definitions as requests carry them. `nonces`: placeholder to kind of value.

    `harmless`: tools that may be called besides, at the cost of half a point. `optional`: arguments that may also be
    given, by tool, each with the values that are right.
    """

    name: str
    kind: str
    title: str
    tools: tuple[Mapping[str, Any], ...]
    turns: tuple[Turn, ...]
    nonces: Mapping[str, str]
    system: str = ""
    history: tuple[Mapping[str, Any], ...] = ()
    harmless: frozenset[str] = frozenset()
    optional: Mapping[str, Mapping[str, Any]] | None = None

    @property
    def id(self) -> str:
        return f"{self.kind}/{self.name}"
