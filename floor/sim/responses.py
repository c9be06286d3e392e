"""OpenAI's Responses API, which vLLM speaks on /v1/responses. Not captured: written from its documentation,
https://platform.openai.com/docs/api-reference/responses and …/responses-streaming. Text only."""

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
    asked["max_tokens"] = content.get("max_output_tokens")
    return decide_chat(asked, settings, served)


def whole(asked: Asked, identity: Identity, call_id: str) -> JsonObject:
    item = _item(identity, call_id, "completed") | {"content": [_part("".join(asked.tokens))]}
    return _response(asked, identity) | {
        "status": "completed" if asked.finish == "stop" else "incomplete",
        "incomplete_details": None if asked.finish == "stop" else {"reason": "max_output_tokens"},
        "output": [item],
        "usage": {
            "input_tokens": asked.prompt_tokens,
            "output_tokens": len(asked.tokens),
            "total_tokens": asked.prompt_tokens + len(asked.tokens),
        },
    }


def _response(asked: Asked, identity: Identity) -> JsonObject:
    about = {"id": identity.id, "object": "response", "created_at": identity.created, "model": asked.model}
    return about | {"status": "in_progress", "output": [], "usage": None, "error": None, "incomplete_details": None}


def _item(identity: Identity, call_id: str, status: str) -> JsonObject:
    about = {"id": f"msg_{call_id or identity.id}", "type": "message", "role": "assistant"}
    return about | {"status": status, "content": []}


def _part(text: str) -> JsonObject:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": None}


@dataclass(frozen=True)
class ResponseStream:
    """The steps of `floor.sim.streams.Stream`; this API has one choice."""

    asked: Asked
    identity: Identity
    call_id: str

    def opening(self, choice: int) -> bytes:  # noqa: ARG002  # a Stream's step
        item = _item(self.identity, self.call_id, "in_progress")
        return (
            named_event("response.created", {"sequence_number": 0, "response": _response(self.asked, self.identity)})
            + named_event("response.output_item.added", {"sequence_number": 1, "output_index": 0, "item": item})
            + named_event("response.content_part.added", {"sequence_number": 2, **self._place, "part": _part("")})
        )

    def token(self, choice: int, at: int, generated: int) -> bytes:  # noqa: ARG002  # a Stream's step
        content = {"sequence_number": 3 + at, **self._place, "delta": self.asked.tokens[at], "logprobs": []}
        return named_event("response.output_text.delta", content)

    def closing(self, choice: int) -> bytes:  # noqa: ARG002  # a Stream's step
        text = "".join(self.asked.tokens)
        return named_event("response.output_text.done", {"sequence_number": self._after, **self._place, "text": text})

    def ending(self, generated: int) -> bytes:  # noqa: ARG002  # a Stream's step
        response = whole(self.asked, self.identity, self.call_id)
        return named_event(f"response.{response['status']}", {"sequence_number": self._after + 1, "response": response})

    @property
    def _place(self) -> JsonObject:
        item = _item(self.identity, self.call_id, "")["id"]
        return {"item_id": item, "output_index": 0, "content_index": 0}

    @property
    def _after(self) -> int:
        return 3 + len(self.asked.tokens)
