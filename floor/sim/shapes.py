"""The JSON that vLLM 0.32 answers with: key for key as captured from a real one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from floor.sim.asking import Asked
from floor.sim.settings import VERSION

FINGERPRINT = f"vllm-{VERSION}-9176d6e1"
JsonObject = dict[str, Any]


@dataclass(frozen=True)
class Identity:
    """What tells one answer from another: its id, and when it was asked (unix seconds)."""

    id: str
    created: int


def usage(asked: Asked, generated: int) -> JsonObject:
    return {
        "prompt_tokens": asked.prompt_tokens,
        "total_tokens": asked.prompt_tokens + generated,
        "completion_tokens": generated,
    }


def parts(asked: Asked) -> tuple[str, str]:
    """(reasoning, content) of a whole answer."""
    return "".join(asked.tokens[: asked.reasoning]), "".join(asked.tokens[asked.reasoning :])


def chat(asked: Asked, identity: Identity, call_id: str) -> JsonObject:
    reasoning, content = parts(asked)
    message: JsonObject = {"role": "assistant", "content": content}
    message |= {"refusal": None, "annotations": None, "audio": None, "function_call": None}
    if asked.call is not None:
        message["content"] = None
        function = {"name": asked.call.name, "arguments": content}
        message["tool_calls"] = [{"id": call_id, "type": "function", "function": function}]
    message["reasoning"] = reasoning or None
    if asked.said is not None:
        message = asked.said.message()
    choice = {"message": message, **ending(asked), "routed_experts": None}
    prompt = {"prompt_logprobs": None, "prompt_token_ids": None, "prompt_text": None}
    return _whole("chat.completion", asked, identity, choice) | prompt | _TRAILER


def completion(asked: Asked, identity: Identity) -> JsonObject:
    more = {"prompt_logprobs": None, "prompt_token_ids": None, "routed_experts": None}
    choice = {"text": "".join(asked.tokens), **ending(asked), **more}
    return _whole("text_completion", asked, identity, choice) | _TRAILER


_TRAILER: JsonObject = {"kv_transfer_params": None, "ec_transfer_params": None, "metrics": None}


def ending(asked: Asked) -> JsonObject:
    return {
        "logprobs": None,
        "finish_reason": asked.finish,
        "stop_reason": asked.stop_reason,
        "token_ids": None,
    }


def _whole(kind: str, asked: Asked, identity: Identity, choice: Mapping[str, Any]) -> JsonObject:
    details = {"prompt_tokens_details": None, "completion_tokens_details": None}
    return {
        "id": identity.id,
        "object": kind,
        "created": identity.created,
        "model": asked.model,
        "choices": [{"index": index, **choice} for index in range(asked.choices)],
        "service_tier": None,
        "system_fingerprint": FINGERPRINT,
        "usage": usage(asked, len(asked.tokens) * asked.choices) | details,
    }


def models(names: tuple[str, ...], root: str, longest: int, created: int, permission: str) -> JsonObject:
    """/v1/models: one entry a served name, `root` being the model's path or repository."""
    grants = {
        "id": f"modelperm-{permission}",
        "object": "model_permission",
        "created": created,
        "allow_create_engine": False,
        "allow_sampling": True,
        "allow_logprobs": True,
        "allow_search_indices": False,
        "allow_view": True,
        "allow_fine_tuning": False,
        "organization": "*",
        "group": None,
        "is_blocking": False,
    }
    about = {"object": "model", "created": created, "owned_by": "vllm", "root": root, "parent": None}
    data = [{"id": name, **about, "max_model_len": longest, "permission": [grants]} for name in names]
    return {"object": "list", "data": data}


def encode(content: object) -> bytes:
    """JSON as vLLM writes it: no spaces, UTF-8 as it is."""
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode()


def event(content: object) -> bytes:
    """One server-sent event."""
    return b"data: " + encode(content) + b"\n\n"


def named_event(name: str, content: JsonObject) -> bytes:
    """One server-sent event of an API whose events have names, repeated as `type` inside."""
    return f"event: {name}\n".encode() + event({"type": name, **content})
