"""What an answer says, whole or streamed, exactly as a strict client would put it together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MISSING = object()
REASONING = ("reasoning_content", "reasoning")  # vLLM until 0.11 and llama.cpp; vLLM since, and Ollama


@dataclass(frozen=True)
class Call:
    """A tool call with what the server sent, of whatever type; MISSING where a field was absent.

    `tangled`: a client that puts deltas together by their index gets something else than this.
    """

    id: Any
    name: Any
    arguments: Any
    tangled: bool = False


@dataclass(frozen=True)
class Answer:
    """One answer. `malformed` and `indexes` tell what is wrong with its form, a sentence each."""

    content: str = ""
    reasoning: str = ""
    calls: tuple[Call, ...] = ()
    finish: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    malformed: tuple[str, ...] = ()
    indexes: tuple[str, ...] = ()
    first_token: float | None = None
    first_tool_byte: float | None = None
    message: Mapping[str, Any] = field(default_factory=dict)


def text(value: object) -> str:
    """A field of text as a client shows it: null is nothing, parts of text are joined."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(str(part.get("text", "")) for part in value if isinstance(part, Mapping))
    return ""


def reasoning(message: Mapping[str, Any]) -> str:
    """The reasoning of a message or a delta, under whichever name."""
    return "".join(text(message.get(name)) for name in REASONING[: 1 if message.get(REASONING[0]) else 2])


def finish(value: object) -> str | None:
    """A finish_reason, None where there is none; what is of another type is a fault of form (`unfit`)."""
    return value if isinstance(value, str) else None


def unfit(value: object) -> tuple[str, ...]:
    """What is wrong with the type of a finish_reason, in words."""
    return () if value is None or isinstance(value, str) else (f"finish_reason is of type {type(value).__name__}",)


def count(usage: object, name: str) -> int | None:
    """A number of tokens from `usage`, None where there is none."""
    value = usage.get(name) if isinstance(usage, Mapping) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
