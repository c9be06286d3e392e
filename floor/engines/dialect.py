"""What request headers an engine can stand, by the dialect it speaks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Headers:
    """`host` is what every request to the engine says in Host; `drop` are headers of clients that it must not see;
    `keeps`: whether its connections may serve one request after another."""

    host: str = "localhost"
    drop: tuple[str, ...] = ()
    keeps: bool = True


# Ollama answers 403 to a Host that is not its own and to every Origin it was not told of (ollama#6021, #3269):
# `localhost` is a Host that all of these take. A browser's Origin is vLLM's own business (--allowed-origins).
# llama.cpp's server may close a connection behind an answer without having said so: 1 of 149 requests was lost, sent
# into a kept one a millisecond later, with no restart near it.
DIALECTS = {
    "vllm": Headers(),
    "llamacpp": Headers(keeps=False),
    "ollama": Headers(drop=("Origin",)),
}


def headers(dialect: str) -> Headers:
    """Given a dialect (vllm, llamacpp, ollama), return the headers it wants. Raises ValueError for another word."""
    try:
        return DIALECTS[dialect]
    except KeyError:
        raise ValueError(f"no such dialect: {dialect!r}; known are {', '.join(DIALECTS)}") from None
