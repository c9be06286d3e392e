"""OpenAI's Responses API, which vLLM speaks on /v1/responses: text only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from floor.sim.asking import Asked, decide_chat
from floor.sim.settings import Settings
from floor.sim.shapes import Identity, JsonObject, named_event


def decide(content: Mapping[str, Any], settings: Settings, served: tuple[str, ...]) -> Asked:
    """A response request, decided as the chat it amounts to. Raises Refusal."""
    asked = {name: value for name, value in content.items() if name not in ("tools", "tool_choice", "input")}
    given = content.get("input")
    if given is not None:
        asked["messages"] = [{"role": "user", "content": given}] if isinstance(given, str) else given
    asked |= {"max_tokens": content.get("max_output_tokens"), "n": None}
    return decide_chat(asked, settings, served)


def whole(asked: Asked, identity: Identity, call_id: str) -> JsonObject:
    item = _item(call_id, "completed", [_part(asked)])
    return _response(asked, identity, [item], ended=True)


def _response(asked: Asked, identity: Identity, output: list[JsonObject], ended: bool) -> JsonObject:
    cut = ended and asked.finish == "length"
    return {
        "id": identity.id,
        "created_at": identity.created,
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "instructions": None,
        "metadata": None,
        "model": asked.model,
        "object": "response",
        "output": output,
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "none",
        "tools": [],
        "top_p": 1.0,
        "background": False,
        "max_output_tokens": asked.max_tokens,
        "max_tool_calls": None,
        "previous_response_id": None,
        "prompt": None,
        "reasoning": None,
        "service_tier": "auto",
        "status": ("incomplete" if cut else "completed") if ended else "in_progress",
        "text": None,
        "top_logprobs": None,
        "truncation": "disabled",
        "usage": _usage(asked) if ended else None,
        "user": None,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        **dict.fromkeys(("kv_transfer_params", "ec_transfer_params", "input_messages", "output_messages")),
    }


def _usage(asked: Asked) -> JsonObject:
    generated = len(asked.tokens)
    read = {"cached_tokens": 0, "cache_write_tokens": 0, "input_tokens_per_turn": [], "cached_tokens_per_turn": []}
    said = {"reasoning_tokens": asked.reasoning, "tool_output_tokens": 0}
    turns: JsonObject = {"output_tokens_per_turn": [], "tool_output_tokens_per_turn": []}
    return {
        "input_tokens": asked.prompt_tokens,
        "input_tokens_details": read,
        "output_tokens": generated,
        "output_tokens_details": said | turns,
        "total_tokens": asked.prompt_tokens + generated,
    }


def _item(call_id: str, status: str, content: list[JsonObject]) -> JsonObject:
    about = {"id": f"msg_{call_id.removeprefix('chatcmpl-tool-')}", "content": content}
    return about | {"role": "assistant", "status": status, "type": "message", "phase": None}


def _part(asked: Asked) -> JsonObject:
    return {"annotations": [], "text": "".join(asked.tokens), "type": "output_text", "logprobs": None}


@dataclass(frozen=True)
class ResponseStream:
    """The steps of `floor.sim.streams.Stream`; this API has one choice."""

    asked: Asked
    identity: Identity
    call_id: str

    def opening(self) -> bytes:
        response = _response(self.asked, self.identity, [], ended=False)
        item = _item(self.call_id, "in_progress", [])
        part = {"annotations": [], "text": "", "type": "output_text", "logprobs": []}
        return (
            _event("response.created", 0, {"response": response})
            + _event("response.in_progress", 1, {"response": response})
            + _event("response.output_item.added", 2, {"item": item, "output_index": 0})
            + _event("response.content_part.added", 3, self._place | {"part": part})
        )

    def token(self, choice: int, at: int) -> bytes:  # noqa: ARG002  # a Stream's step
        delta = {"delta": self.asked.tokens[at], "logprobs": []}
        return _event("response.output_text.delta", 4 + at, self._place | delta)

    def ending(self, generated: int) -> bytes:
        after = 4 + generated
        response = whole(self.asked, self.identity, self.call_id)
        item = response["output"][0]
        said = {"logprobs": [], "text": "".join(self.asked.tokens)}
        return (
            _event("response.output_text.done", after, self._place | said)
            + _event("response.content_part.done", after + 1, self._place | {"part": _part(self.asked)})
            + _event("response.output_item.done", after + 2, {"item": item, "output_index": 0})
            + _event("response.completed", after + 3, {"response": response})
        )

    @property
    def _place(self) -> JsonObject:
        return {"content_index": 0, "item_id": _item(self.call_id, "", [])["id"], "output_index": 0}


def _event(name: str, number: int, content: JsonObject) -> bytes:
    return named_event(name, content | {"sequence_number": number})
