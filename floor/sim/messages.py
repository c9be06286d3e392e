"""Anthropic's Messages API, which vLLM also speaks on /v1/messages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from floor.sim.asking import Asked, decide_chat
from floor.sim.settings import Settings
from floor.sim.shapes import Identity, JsonObject, named_event


def decide(content: Mapping[str, Any], settings: Settings, served: tuple[str, ...]) -> Asked:
    """A message request, decided as the chat it amounts to. Raises Refusal."""
    asked = {**content, "n": None}
    if isinstance(content.get("messages"), list) and content.get("system"):
        asked["messages"] = [{"role": "system", "content": content["system"]}, *content["messages"]]
    if isinstance(content.get("tools"), list):
        asked["tools"] = [_tool(tool) for tool in content["tools"]]
        asked["tool_choice"] = _choice(content.get("tool_choice"))
    asked["stop"] = content.get("stop_sequences")
    return decide_chat(asked, settings, served)


def _tool(tool: object) -> object:
    """The same tool as the chat API has it; what is no tool is left for the checks to find."""
    if not isinstance(tool, dict):
        return tool
    return {"type": "function", "function": {**tool, "parameters": tool.get("input_schema")}}


def _choice(choice: object) -> object:
    if not isinstance(choice, dict):
        return choice
    if choice.get("type") == "tool":
        return {"function": {"name": choice.get("name")}}
    return "required" if choice.get("type") == "any" else choice.get("type")


def whole(asked: Asked, identity: Identity, call_id: str) -> JsonObject:
    text = "".join(asked.tokens)
    block = _block(asked, call_id) | ({"input": json.loads(text)} if _calls(asked) else {"text": text})
    return {
        **_head(identity),
        "content": [block],
        "model": asked.model,
        "stop_reason": _reason(asked),
        **({"stop_sequence": asked.stop_reason} if asked.stop_reason else {}),
        "usage": {"input_tokens": asked.prompt_tokens, "output_tokens": len(asked.tokens)},
    }


def _head(identity: Identity) -> JsonObject:
    return {"id": identity.id, "type": "message", "role": "assistant"}


def _calls(asked: Asked) -> bool:
    """Whether it is a tool call that was not cut short."""
    return asked.call is not None and asked.finish != "length"


def _reason(asked: Asked) -> str:
    if _calls(asked):
        return "tool_use"
    if asked.stop_reason:
        return "stop_sequence"
    return "max_tokens" if asked.finish == "length" else "end_turn"


def _block(asked: Asked, call_id: str) -> JsonObject:
    if asked.call is None or not _calls(asked):
        return {"type": "text", "text": ""}
    return {"type": "tool_use", "id": call_id, "name": asked.call.name, "input": {}}


@dataclass(frozen=True)
class MessageStream:
    """The steps of `floor.sim.streams.Stream`; this API has one choice."""

    asked: Asked
    identity: Identity
    call_id: str

    def opening(self) -> bytes:
        reasons = {"stop_reason": None, "stop_sequence": None}
        usage = {"input_tokens": self.asked.prompt_tokens, "output_tokens": 0}
        message = {**_head(self.identity), "content": [], "model": self.asked.model, **reasons}
        block = {"content_block": _block(self.asked, self.call_id), "index": 0}
        start = named_event("message_start", {"message": message | {"usage": usage}})
        return start + named_event("content_block_start", block)

    def token(self, choice: int, at: int) -> bytes:  # noqa: ARG002  # a Stream's step
        text = self.asked.tokens[at]
        called = _calls(self.asked)
        delta = {"type": "input_json_delta", "partial_json": text} if called else {"type": "text_delta", "text": text}
        return named_event("content_block_delta", {"delta": delta, "index": 0})

    def ending(self, generated: int) -> bytes:
        delta = {"stop_reason": _reason(self.asked), "stop_sequence": self.asked.stop_reason}
        usage = {"input_tokens": self.asked.prompt_tokens, "output_tokens": generated}
        return (
            named_event("content_block_stop", {"index": 0})
            + named_event("message_delta", {"delta": delta, "usage": usage})
            + named_event("message_stop", {})
        )
