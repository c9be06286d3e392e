"""Ollama, from its API documentation (docs/api.md, docs/openai.md of ollama/ollama); no real one was asked here.

It has no health page, no metrics and no key. It lists what lies on its disk, and loads a model when it is asked for it:
`/api/ps` tells what is in memory now. Nothing tells how busy it is or that a token came out for others; only a request
of one's own proves that it works, and one that gets no answer in time may have waited in its queue.
"""

from __future__ import annotations

import json
from typing import Any

from ..load import Load
from . import openai
from .dialect import Dialect

_LATEST = ":latest"


def served(body: bytes) -> tuple[str, ...] | None:
    """Given the answer of `/v1/models`, return the names listed; one with the tag `latest` goes without it, too."""
    names = openai.served(body)
    return None if names is None else _both(names)


def load(body: bytes) -> Load | None:
    """Given the answer of `/api/ps`, return what is in memory and how much of that on a card; None if it is none."""
    try:
        models = json.loads(body)["models"]
        names = tuple(str(model["name"]) for model in models)
        size, on_card = _total(models, "size"), _total(models, "size_vram")
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError):
        return None
    return Load(resident=_both(names), on_card=min(1.0, on_card / size) if size > 0 else None)


def loading(status: int, body: bytes) -> bool:  # noqa: ARG001  # as a Dialect has it
    """It never says so: a request waits until the model is in memory."""
    return False


def _both(names: tuple[str, ...]) -> tuple[str, ...]:
    short = [name.removesuffix(_LATEST) for name in names]
    return tuple(dict.fromkeys([*short, *names]))


def _total(models: list[dict[str, Any]], key: str) -> float:
    return float(sum(model.get(key) or 0 for model in models))


OLLAMA = Dialect(
    name="ollama",
    health="/api/version",
    models="/v1/models",
    metrics="/api/ps",
    generations=openai.generations,
    served=served,
    load=load,
    tokens=openai.tokens,
    loading=loading,
)
