"""Answers by the book with the fault `tools` on them: what a server, a parser or a model does to tool calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from floor.sim.asking import Asked
from floor.sim.book import Book, Played
from floor.sim.faults import Fault
from floor.sim.refusals import refusal
from floor.sim.said import Said
from floor.sim.spoil import SPOILS

CUT_PROMPT = 4096  # tokens that a server with the fault prompt-cut reads
SHORT_ID = 9


@dataclass
class Memory:
    """What a server with the fault `state` keeps from one conversation and confuses the next with."""

    last: str = ""
    seen: Counter[str] = field(default_factory=Counter)

    def confused(self, prompt: str) -> bool:
        """Whether this kind of prompt was served before, and another one since."""
        confused = self.seen[prompt] > 0 and self.last != prompt
        self.seen[prompt] += not confused
        self.last = self.last if confused else prompt
        return confused


@dataclass
class Desk:
    """Where chats are answered by the book. `reasoning`: tokens of thought before each answer."""

    book: Book
    reasoning: int = 0
    memory: Memory = field(default_factory=Memory)

    def answer(
        self, asked: Asked, content: Mapping[str, Any], fault: Fault | None, running: int, call_id: str
    ) -> Asked:
        """Given a chat that was decided, return it with the book's answer; as it was where the book knows none.

        `running`: generations under way. Raises Refusal where the fault refuses the request.
        """
        played = self.book.next(content["messages"])
        if played is None:
            return asked
        what = fault.word("what") if fault is not None and _meets(fault, content) else ""
        _refuse(what, content)
        if what == "prompt-cut" and asked.prompt_tokens > CUT_PROMPT:
            asked, what = replace(asked, prompt_tokens=CUT_PROMPT), "words-only"
        elif what == "load":
            what = "wrong-digit" if fault is not None and running >= fault.number("running") else ""
        elif what == "state":
            what = "words-only" if self.memory.confused(_first(content)[:24]) else ""
        return replace(asked, **self._said(played, content, what, call_id))

    def _said(self, played: Played, content: Mapping[str, Any], what: str, call_id: str) -> dict[str, Any]:
        return _spoken(Said.of(played, call_id, self.reasoning), content, what)


def _spoken(said: Said, content: Mapping[str, Any], what: str) -> dict[str, Any]:
    if what in SPOILS:
        SPOILS[what](said, content)
    deltas = said.deltas()
    most = content.get("max_completion_tokens") or content.get("max_tokens") or len(deltas)
    finish = said.finish
    if len(deltas) > most:
        deltas, finish = deltas[:most], "length"
    tokens = tuple("" for _ in deltas)
    return {"said": said, "deltas": tuple(deltas), "tokens": tokens, "finish": finish, "call": None, "reasoning": 0}


def _meets(fault: Fault, content: Mapping[str, Any]) -> bool:
    """Whether the fault is for this request: by how it is to be answered, and by its share of all conversations."""
    mode = "streamed" if content.get("stream") else "whole"
    if fault.word("mode") not in ("both", mode):
        return False
    return int.from_bytes(sha256(_first(content).encode()).digest()[:4], "big") < fault.number("share") * 2**32


def _first(content: Mapping[str, Any]) -> str:
    """What tells a conversation from others, however far it is: what the user said first and the last user's words."""
    said = [str(message.get("content")) for message in content["messages"] if message.get("role") == "user"]
    return said[0] if said else ""


def _refuse(what: str, content: Mapping[str, Any]) -> None:
    """Faults that answer a legal request with an error. Raises Refusal."""
    messages = content["messages"]
    last = max(at for at, message in enumerate(messages) if message.get("role") == "user")
    calls = [call for message in messages for call in message.get("tool_calls") or ()]
    if what == "server-error" and len(content.get("tools") or ()) > 20:
        raise refusal(500, "Failed to convert the grammar of the tools", "InternalServerError")
    if what == "refuses-own-call" and any(message.get("tool_calls") for message in messages[last:]):
        raise refusal(400, "Unexpected role 'tool' after 'assistant'", "BadRequestError")
    if what == "refuses-short-ids" and any(len(str(call.get("id"))) == SHORT_ID for call in calls):
        raise refusal(400, "tool call ids have to be 16 characters long", "BadRequestError")
