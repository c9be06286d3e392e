"""llama.cpp's server: 503 while it loads, and metrics only where it was started with `--metrics` (501 otherwise)."""

from __future__ import annotations

from ..exposition import Family, read
from ..load import Load
from . import openai
from .dialect import Dialect
from .vllm import loading

_FAMILIES = {
    "running": Family((b"llamacpp:requests_processing",)),
    "waiting": Family((b"llamacpp:requests_deferred",)),
    # Both move only when a slot is released: a busy slot beside flat counters is normal.
    "generated": Family((b"llamacpp:tokens_predicted_total",)),
    "prompted": Family((b"llamacpp:prompt_tokens_total",)),
    # Moves with every step of the model, in the middle of an answer too.
    "steps": Family((b"llamacpp:n_decode_total",)),
}


def load(body: bytes) -> Load | None:
    """Given a metrics page, return its counts; None if it has no metric of llama.cpp's."""
    found = read(body, _FAMILIES)
    return Load(**found) if found else None  # type: ignore[arg-type]  # numbers, by the names of their fields


LLAMACPP = Dialect(
    name="llamacpp",
    health="/health",
    models="/v1/models",
    metrics="/metrics",
    generations=openai.generations,
    served=openai.served,
    load=load,
    tokens=openai.tokens,
    loading=loading,
)
