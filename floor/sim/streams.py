"""The events of streamed answers, key for key as vLLM 0.32 sends them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from floor.sim.asking import Asked
from floor.sim.shapes import FINGERPRINT, Identity, JsonObject, ending, event, usage

DONE = b"data: [DONE]\n\n"


class Stream(Protocol):
    """One answer as bytes of server-sent events, possibly none at a step. Choices and tokens count from 0."""

    def opening(self) -> bytes:
        """What goes before the first token of all."""

    def token(self, choice: int, at: int) -> bytes:
        """Token number `at` of a choice; the last one also ends it."""

    def ending(self, generated: int) -> bytes:
        """What ends the stream, after `generated` tokens over all choices."""


@dataclass(frozen=True)
class ChatStream:
    asked: Asked
    identity: Identity
    call_id: str

    def opening(self) -> bytes:
        return b"".join(event(self._opening(choice)) for choice in range(self.asked.choices))

    def token(self, choice: int, at: int) -> bytes:
        asked, text = self.asked, self.asked.tokens[at]
        if asked.said is not None:
            return self._said(choice, at)
        if asked.call is None:
            delta = {"reasoning": text} if at < asked.reasoning else {"content": text}
            return self._delta(choice, at, delta, last=at == len(asked.tokens) - 1)
        said = {"index": 0, "function": {"arguments": text}}
        name = {"id": self.call_id, "type": "function", "index": 0, "function": {"name": asked.call.name}}
        events = [self._called(choice, at, called) for called in ([name, said] if at == 0 else [said])]
        if at == len(asked.tokens) - 1:
            events.append(self._delta(choice, at, {}, last=True))
        return b"".join(events)

    def _said(self, choice: int, at: int) -> bytes:
        """A token of an answer by the book; the last one is followed by an event that ends it."""
        last = at == len(self.asked.tokens) - 1
        deltas = [*self.asked.deltas[at], *([{}] if last else [])]
        marks = [False] * len(self.asked.deltas[at]) + [True] * last
        return b"".join(self._delta(choice, at, dict(one), mark) for one, mark in zip(deltas, marks, strict=True))

    def ending(self, generated: int) -> bytes:
        ended = _ending(self.asked, self._chunk([]), generated)
        return ended if self.asked.said is None or self.asked.said.ends else ended.removesuffix(DONE)

    def _opening(self, choice: int) -> JsonObject:
        delta = {"role": "assistant", "content": ""}
        content = self._chunk([{"index": choice, "delta": delta, "logprobs": None, "finish_reason": None}])
        return content | _running_usage(self.asked, 0) | {"prompt_token_ids": None, "prompt_text": None}

    def _called(self, choice: int, at: int, called: JsonObject) -> bytes:
        return self._delta(choice, at, {"content": None, "tool_calls": [called]}, last=False)

    def _delta(self, choice: int, at: int, delta: JsonObject, last: bool) -> bytes:
        end = ending(self.asked) if last else {"logprobs": None, "finish_reason": None, "token_ids": None}
        content = self._chunk([{"index": choice, "delta": delta, **end}])
        if last and not self.asked.include_usage:
            content["system_fingerprint"] = FINGERPRINT
        return event(content | _running_usage(self.asked, at + 1))

    def _chunk(self, choices: list[JsonObject]) -> JsonObject:
        return _chunk("chat.completion.chunk", self.asked, self.identity, choices)


@dataclass(frozen=True)
class CompletionStream:
    """Plain completions open without an event of their own."""

    asked: Asked
    identity: Identity

    def opening(self) -> bytes:
        return b""

    def token(self, choice: int, at: int) -> bytes:
        last = at == len(self.asked.tokens) - 1
        end = ending(self.asked) if last else dict.fromkeys(ending(self.asked))
        del end["token_ids"]
        text = {"index": choice, "text": self.asked.tokens[at]}
        content = self._chunk([text | end | {"prompt_token_ids": None, "token_ids": None}])
        if last and not self.asked.include_usage:
            content["system_fingerprint"] = FINGERPRINT
        return event(content | _running_usage(self.asked, at + 1))

    def ending(self, generated: int) -> bytes:
        return _ending(self.asked, self._chunk([]), generated)

    def _chunk(self, choices: list[JsonObject]) -> JsonObject:
        return _chunk("text_completion", self.asked, self.identity, choices)


def _chunk(kind: str, asked: Asked, identity: Identity, choices: list[JsonObject]) -> JsonObject:
    about = {"id": identity.id, "object": kind, "created": identity.created, "model": asked.model}
    return about | {"choices": choices}


def _running_usage(asked: Asked, generated: int) -> JsonObject:
    """What rides on every event when asked for: the tokens of that event's own choice so far."""
    return {"usage": usage(asked, generated) | {"completion_tokens_details": None}} if asked.each_usage else {}


def _ending(asked: Asked, chunk: JsonObject, generated: int) -> bytes:
    if not asked.include_usage:
        return DONE
    return event(chunk | {"usage": usage(asked, generated), "system_fingerprint": FINGERPRINT}) + DONE
