"""The events of streamed answers, key for key as vLLM 0.32 sends them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from floor.sim.asking import Asked
from floor.sim.shapes import FINGERPRINT, Identity, JsonObject, ending, event, usage

DONE = b"data: [DONE]\n\n"


class Stream(Protocol):
    """One answer as bytes of server-sent events, possibly none at a step. Choices and tokens count from 0."""

    def opening(self, choice: int) -> bytes:
        """What goes before a choice's first token."""

    def token(self, choice: int, at: int, generated: int) -> bytes:
        """Token number `at` of a choice; `generated` tokens are out with it, over all choices."""

    def closing(self, choice: int) -> bytes:
        """What follows a choice's last token."""

    def ending(self, generated: int) -> bytes:
        """What ends the stream."""


@dataclass(frozen=True)
class ChatStream:
    asked: Asked
    identity: Identity
    call_id: str

    def opening(self, choice: int) -> bytes:
        delta = {"role": "assistant", "content": ""}
        content = self._chunk([{"index": choice, "delta": delta, "logprobs": None, "finish_reason": None}])
        return event(content | {"prompt_token_ids": None, "prompt_text": None})

    def token(self, choice: int, at: int, generated: int) -> bytes:
        about = {"logprobs": None, "finish_reason": None, "token_ids": None}
        content = self._chunk([{"index": choice, "delta": self._delta(at), **about}])
        return event(content | _running_usage(self.asked, generated))

    def closing(self, choice: int) -> bytes:
        return event(self._chunk([{"index": choice, "delta": {}, **ending(self.asked)}]))

    def ending(self, generated: int) -> bytes:
        return _ending(self.asked, self._chunk([]), generated)

    def _delta(self, at: int) -> JsonObject:
        text = self.asked.tokens[at]
        if self.asked.call is None:
            return {"reasoning": text} if at < self.asked.reasoning else {"content": text}
        if at > 0:
            return {"tool_calls": [{"index": 0, "function": {"arguments": text}}]}
        function = {"name": self.asked.call.name, "arguments": text}
        return {"tool_calls": [{"id": self.call_id, "type": "function", "index": 0, "function": function}]}

    def _chunk(self, choices: list[JsonObject]) -> JsonObject:
        return _chunk("chat.completion.chunk", self.asked, self.identity, choices)


@dataclass(frozen=True)
class CompletionStream:
    """Plain completions open and close without an event of their own."""

    asked: Asked
    identity: Identity

    def opening(self, choice: int) -> bytes:  # noqa: ARG002  # a Stream's step
        return b""

    def token(self, choice: int, at: int, generated: int) -> bytes:
        last = at == len(self.asked.tokens) - 1
        end = ending(self.asked) if last else dict.fromkeys(ending(self.asked))
        content = self._chunk([{"index": choice, "text": self.asked.tokens[at], **end}])
        return event(content | _running_usage(self.asked, generated))

    def closing(self, choice: int) -> bytes:  # noqa: ARG002  # a Stream's step
        return b""

    def ending(self, generated: int) -> bytes:
        return _ending(self.asked, self._chunk([]), generated)

    def _chunk(self, choices: list[JsonObject]) -> JsonObject:
        return _chunk("text_completion", self.asked, self.identity, choices)


def _chunk(kind: str, asked: Asked, identity: Identity, choices: list[JsonObject]) -> JsonObject:
    about = {"id": identity.id, "object": kind, "created": identity.created, "model": asked.model}
    return about | {"choices": choices}


def _running_usage(asked: Asked, generated: int) -> JsonObject:
    return {"usage": usage(asked, generated)} if asked.each_usage else {}


def _ending(asked: Asked, chunk: JsonObject, generated: int) -> bytes:
    if not asked.include_usage:
        return DONE
    return event(chunk | {"usage": usage(asked, generated), "system_fingerprint": FINGERPRINT}) + DONE
