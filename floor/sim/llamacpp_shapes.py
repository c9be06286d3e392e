"""The JSON that llama.cpp's server answers with: key for key as captured from a real one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from floor.sim import asking
from floor.sim.asking import Asked
from floor.sim.refusals import Refusal
from floor.sim.settings import Settings
from floor.sim.shapes import Identity, JsonObject, event
from floor.sim.streams import DONE
from floor.sim.wording import count_tokens

FINGERPRINT = "b0-unknown"
TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    500: "server_error",
    501: "not_supported_error",
    503: "unavailable_error",
}


def refusal(status: int, message: str, **more: object) -> Refusal:
    """A refusal as llama.cpp words it."""
    return Refusal(status, {"code": status, "message": message, "type": TYPES[status]} | more)


def decide_chat(content: Mapping[str, Any], settings: Settings, served: tuple[str, ...]) -> Asked:
    """A chat decided; whatever model is named, the one that there is answers. Raises Refusal."""
    return _decided(asking.decide_chat, content, settings, served)


def decide_completion(content: Mapping[str, Any], settings: Settings, served: tuple[str, ...]) -> Asked:
    """A plain completion decided. Raises Refusal."""
    return _decided(asking.decide_completion, content, settings, served)


def _decided(decide: Any, content: Mapping[str, Any], settings: Settings, served: tuple[str, ...]) -> Asked:
    try:
        asked: Asked = decide({**content, "model": None}, settings, served)
    except Refusal as error:
        if error.error.get("param") == "input_tokens":
            raise exceeds(content, settings.max_model_len) from None
        raise
    return replace(asked, model=str(content.get("model") or served[0]))


def exceeds(content: Mapping[str, Any], longest: int) -> Refusal:
    """The prompt is longer than what a slot has."""
    prompt = content.get("prompt")
    count = len(prompt) if isinstance(prompt, list) else count_tokens(str(content.get("messages") or prompt))
    message = f"request ({count} tokens) exceeds the available context size ({longest} tokens), try increasing it"
    more = {"type": "exceed_context_size_error", "n_prompt_tokens": count, "n_ctx": longest}
    return refusal(400, message, **more)


def chat(asked: Asked, identity: Identity, call_id: str) -> JsonObject:
    """A whole chat answer."""
    text = "".join(asked.tokens)
    message: JsonObject = {"role": "assistant", "content": text}
    if asked.call is not None:
        function = {"name": asked.call.name, "arguments": text}
        message |= {"content": None, "tool_calls": [{"type": "function", "function": function, "id": call_id}]}
    choice = {"finish_reason": asked.finish, "index": 0, "message": message}
    return {"choices": [choice], **_about(asked, identity, "chat.completion"), **_trailer(asked, identity)}


def completion(asked: Asked, identity: Identity, call_id: str) -> JsonObject:  # noqa: ARG001  # as a Dialect has it
    """A whole completion."""
    choice = {"text": "".join(asked.tokens), "index": 0, "logprobs": None, "finish_reason": asked.finish}
    return {"choices": [choice], **_about(asked, identity, "text_completion"), **_trailer(asked, identity)}


@dataclass(frozen=True)
class Stream:
    """The steps of `floor.sim.streams.Stream`, for a chat or a completion."""

    asked: Asked
    identity: Identity
    call_id: str
    chat: bool = True

    def opening(self) -> bytes:
        return self._event({"role": "assistant", "content": None}) if self.chat else b""

    def token(self, choice: int, at: int) -> bytes:  # noqa: ARG002  # a Stream's step; there is one choice
        text = self.asked.tokens[at]
        if not self.chat:
            return self._event(text)
        if self.asked.call is None:
            return self._event({"content": text})
        first = {"id": self.call_id, "type": "function"} if at == 0 else {}
        name = {"name": self.asked.call.name} if at == 0 else {}
        return self._event({"tool_calls": [{"index": 0, **first, "function": {**name, "arguments": text}}]})

    def ending(self, generated: int) -> bytes:  # noqa: ARG002  # a Stream's step
        last = self._event({} if self.chat else "", self.asked.finish)
        if not self.asked.include_usage:
            return last + DONE
        usage = {"choices": [], **self._about(), **_trailer(self.asked, self.identity)}
        return last + event(usage) + DONE

    def _event(self, delta: object, finish: str | None = None) -> bytes:
        what = {"delta": delta} if self.chat else {"text": delta}
        return event({"choices": [{"finish_reason": finish, "index": 0, **what}], **self._about()})

    def _about(self) -> JsonObject:
        kind = "chat.completion.chunk" if self.chat else "text_completion"
        found = _about(self.asked, self.identity, kind)
        order = ("created", "id", "model", "system_fingerprint", "object")
        return {key: {**found, "id": self.identity.id}[key] for key in order}


def completion_stream(asked: Asked, identity: Identity, call_id: str) -> Stream:
    """The steps of a streamed completion."""
    return Stream(asked, identity, call_id, chat=False)


def models(names: tuple[str, ...], settings: Settings, created: int) -> JsonObject:
    """/v1/models: the one model, under its aliases."""
    name = names[0]
    details: JsonObject = {"parent_model": "", "format": "gguf", "family": "", "families": [""]}
    old: JsonObject = {"name": name, "model": name, "modified_at": "", "size": "", "digest": "", "type": "model"}
    old |= {"description": "", "tags": [""], "capabilities": ["completion"], "parameters": ""}
    old |= {"details": details | {"parameter_size": "", "quantization_level": ""}}
    meta: JsonObject = {
        "vocab_type": 1,
        "n_vocab": 262144,
        "n_ctx": settings.max_model_len,
        "n_ctx_train": 32768,
        "n_embd": 640,
    }
    meta |= {"n_params": 268098176, "size": 246587904, "ftype": "Q4_K - Medium"}
    entry: JsonObject = {"id": name, "aliases": list(names), "tags": [], "object": "model", "created": created}
    entry["architecture"] = {"input_modalities": ["text"], "output_modalities": ["text"]}
    entry |= {"owned_by": "llamacpp", "meta": meta}
    return {"models": [old], "object": "list", "data": [entry]}


def _about(asked: Asked, identity: Identity, kind: str) -> JsonObject:
    about = {"created": identity.created, "model": asked.model, "system_fingerprint": FINGERPRINT}
    return about | {"object": kind}


def _trailer(asked: Asked, identity: Identity) -> JsonObject:
    made, read = len(asked.tokens), asked.prompt_tokens
    usage: JsonObject = {"completion_tokens": made, "prompt_tokens": read, "total_tokens": made + read}
    usage["prompt_tokens_details"] = {"cached_tokens": 0}
    timings: JsonObject = {"cache_n": 0, "prompt_n": read, "predicted_n": made}
    for part in ("prompt", "predicted"):
        timings |= {f"{part}_ms": 1.5, f"{part}_per_token_ms": 0.5, f"{part}_per_second": 99.5}
    return {"usage": usage, "id": identity.id, "timings": timings}
