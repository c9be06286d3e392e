"""The JSON of Ollama's OpenAI-like API, as openai/openai.go of ollama/ollama writes it; not captured."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from floor.sim import asking
from floor.sim.asking import Asked
from floor.sim.exchange import Exchange
from floor.sim.journal import Entry
from floor.sim.refusals import Refusal, refusal
from floor.sim.settings import Settings
from floor.sim.shapes import Identity, JsonObject, event, usage
from floor.sim.simulator import Simulator
from floor.sim.streams import DONE

FINGERPRINT = "fp_ollama"
LATEST = ":latest"


def error(status: int, message: str) -> JsonObject:
    """An error's body."""
    kind = {400: "invalid_request_error", 404: "not_found_error"}.get(status, "api_error")
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


def decide_chat(content: Mapping[str, Any], settings: Settings, served: tuple[str, ...]) -> Asked:
    """A chat decided. Raises Refusal."""
    return _decided(asking.decide_chat, content, settings, served)


def decide_completion(content: Mapping[str, Any], settings: Settings, served: tuple[str, ...]) -> Asked:
    """A plain completion decided; the prompt is one text. Raises Refusal."""
    if not isinstance(content.get("prompt"), str):
        raise refusal(400, "json: cannot unmarshal array into Go struct field CompletionRequest.prompt", "", "prompt")
    return _decided(asking.decide_completion, content, settings, served)


def _decided(decide: Any, content: Mapping[str, Any], settings: Settings, served: tuple[str, ...]) -> Asked:
    name = str(content.get("model") or "")
    if name.removesuffix(LATEST) not in served:
        raise Refusal(404, {"message": f"model '{name}' not found"})
    try:
        asked: Asked = decide({**content, "model": None}, settings, served)
    except Refusal as found:
        if found.error.get("param") != "input_tokens":
            raise
        # It cuts what is too long, without a word.
        text = "x" * (2 * settings.max_model_len)
        short = {"messages": [{"role": "user", "content": text}]} if "messages" in content else {"prompt": text}
        asked = decide({**content, **short, "model": None}, settings, served)
    return replace(asked, model=name, choices=1)


def chat(asked: Asked, identity: Identity, call_id: str) -> JsonObject:
    """A whole chat answer."""
    text = "".join(asked.tokens)
    message: JsonObject = {"role": "assistant", "content": text}
    if asked.call is not None:
        function = {"name": asked.call.name, "arguments": text}
        message |= {
            "content": "",
            "tool_calls": [{"id": call_id, "index": 0, "type": "function", "function": function}],
        }
    choice = {"index": 0, "message": message, "finish_reason": asked.finish}
    return {**_about(asked, identity, "chat.completion"), "choices": [choice], "usage": _usage(asked)}


def completion(asked: Asked, identity: Identity, call_id: str) -> JsonObject:  # noqa: ARG001  # as a Dialect has it
    """A whole completion."""
    choice = {"text": "".join(asked.tokens), "index": 0, "finish_reason": asked.finish}
    return {**_about(asked, identity, "text_completion"), "choices": [choice], "usage": _usage(asked)}


@dataclass(frozen=True)
class Stream:
    """The steps of `floor.sim.streams.Stream`, for a chat or a completion."""

    asked: Asked
    identity: Identity
    call_id: str
    chat: bool = True

    def opening(self) -> bytes:
        return b""

    def token(self, choice: int, at: int) -> bytes:  # noqa: ARG002  # a Stream's step; there is one choice
        if self.asked.call is None:
            return self._event(self.asked.tokens[at])
        if at < len(self.asked.tokens) - 1:
            return b""  # a call comes whole, when it is known
        function = {"name": self.asked.call.name, "arguments": "".join(self.asked.tokens)}
        call = {"id": self.call_id, "index": 0, "type": "function", "function": function}
        return self._event("", more={"tool_calls": [call]})

    def ending(self, generated: int) -> bytes:  # noqa: ARG002  # a Stream's step
        last = self._event("", self.asked.finish)
        if not self.asked.include_usage:
            return last + DONE
        return last + event({**self._about(), "choices": [], "usage": _usage(self.asked)}) + DONE

    def _event(self, text: str, finish: str | None = None, more: JsonObject | None = None) -> bytes:
        delta = {"role": "assistant", "content": text} | (more or {})
        what: JsonObject = {"delta": delta} if self.chat else {"text": text}
        return event({**self._about(), "choices": [{"index": 0, **what, "finish_reason": finish}]})

    def _about(self) -> JsonObject:
        return _about(self.asked, self.identity, "chat.completion.chunk" if self.chat else "text_completion")


def completion_stream(asked: Asked, identity: Identity, call_id: str) -> Stream:
    """The steps of a streamed completion."""
    return Stream(asked, identity, call_id, chat=False)


def models(names: tuple[str, ...]) -> JsonObject:
    """/v1/models: every model of its folder, with its tag."""
    made = int(time.time())
    entries = [{"id": name + LATEST, "object": "model", "created": made, "owned_by": "library"} for name in names]
    return {"object": "list", "data": entries}


def embeddings(asked: Asked, vectors: list[list[float]], new_id: str) -> JsonObject:  # noqa: ARG001  # a Shape
    """The answer of /v1/embeddings."""
    data = [{"object": "embedding", "embedding": vector, "index": at} for at, vector in enumerate(vectors)]
    read = {"prompt_tokens": asked.prompt_tokens, "total_tokens": asked.prompt_tokens}
    return {"object": "list", "data": data, "model": asked.model, "usage": read}


async def no_chat(sim: Simulator, exchange: Exchange, body: bytes, entry: Entry) -> None:  # noqa: ARG001
    """A model for embeddings does not talk."""
    name = sim.served[0]
    raise refusal(400, f'"{name}" does not support chat', "", "model")


def _about(asked: Asked, identity: Identity, kind: str) -> JsonObject:
    about = {"id": identity.id, "object": kind, "created": identity.created, "model": asked.model}
    return about | {"system_fingerprint": FINGERPRINT}


def _usage(asked: Asked) -> JsonObject:
    found = usage(asked, len(asked.tokens))
    return {key: found[key] for key in ("prompt_tokens", "completion_tokens", "total_tokens")}
