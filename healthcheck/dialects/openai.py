"""What every engine with an OpenAI-like API has in common: the model list, one generation, its count of tokens."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def served(body: bytes) -> tuple[str, ...] | None:
    """Given the answer of `/v1/models`, return the names and aliases listed; None if it is no model list."""
    document = _object(body)
    data = document.get("data")
    if not isinstance(data, list):
        return None
    names: list[str] = []
    for entry in data:
        if not isinstance(entry, dict) or not isinstance(entry.get("id"), str):
            return None
        aliases = entry.get("aliases")
        names += [entry["id"], *(a for a in (aliases if isinstance(aliases, list) else []) if isinstance(a, str))]
    return tuple(dict.fromkeys(names))


def tokens(body: bytes) -> int | None:
    """Given a completion, return `usage.completion_tokens`; None without one.

    The text is not read: a reasoning model answers a short request with an empty one.
    """
    usage = _object(body).get("usage")
    count = usage.get("completion_tokens") if isinstance(usage, dict) else None
    return count if isinstance(count, int) and not isinstance(count, bool) and count >= 0 else None


def error(body: bytes) -> str | None:
    """Given an error answer, return the engine's own words, None if it has none in a known place."""
    found = _object(body).get("error")
    if isinstance(found, dict):
        found = found.get("message")
    return found if isinstance(found, str) else None


def generations(model: str, count: int) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    """Given a served name and a number of tokens, return the requests to try in turn.

    A chat first, which is what clients send; a model without a chat template refuses that with 400.
    """
    limits: dict[str, Any] = {"model": model, "max_tokens": count, "temperature": 0, "stream": False}
    if count > 1:
        limits["ignore_eos"] = True  # a speed is measured over this many tokens, so the model may not stop at one
    return (
        ("/v1/chat/completions", {**limits, "messages": [{"role": "user", "content": "Hi"}]}),
        ("/v1/completions", {**limits, "prompt": "Hi"}),
    )


def embeddings(model: str) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    """Given the served name of a model for embeddings, return the requests to try in turn: one that orders texts by a
    question may refuse the first."""
    return (
        ("/v1/embeddings", {"model": model, "input": "Hi"}),
        ("/v1/rerank", {"model": model, "query": "Hi", "documents": ["Hi"]}),
    )


def embedded(body: bytes) -> int | None:
    """Given the answer to one of `embeddings`, return how many vectors or scores it holds; None if it is none."""
    document = _object(body)
    data, results = document.get("data"), document.get("results")
    if isinstance(data, list):
        vectors = [entry.get("embedding") for entry in data if isinstance(entry, dict)]
        return sum(1 for vector in vectors if isinstance(vector, list | str) and vector)
    return len(results) if isinstance(results, list) else None


def _object(body: bytes) -> dict[str, Any]:
    """Given any bytes, return the JSON object in them, an empty one if there is none."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):  # not JSON, not UTF-8, a number of 5000 digits; nested without end
        return {}
    return document if isinstance(document, dict) else {}
