"""What `floor layout --json` prints: a stable shape. Bytes, tokens, seconds, tokens a second; each figure's origin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from floor.layout.assign import Answer
from floor.layout.backend import Backend
from floor.layout.fleet import ASSUMED, COMPUTED, MEASURED, Place
from floor.layout.layouts import Layout
from floor.layout.memory import Use
from floor.layout.simulate import Outcome


def fleet(places: Sequence[Place]) -> dict[str, Any]:
    """Given boxes, return them as JSON values."""
    return {
        place.name: {
            "cards": [card.name for card in place.cards],
            "memory": [round(card.memory) for card in place.cards],
            "others": round(place.others),
            "keep_free": round(place.keep_free),
            "linked": place.linked,
            "origin": place.origin,
        }
        for place in places
    }


def answered(answer: Answer) -> dict[str, Any]:
    """Given what is said of a model, return it as JSON values."""
    want, advice = answer.want, answer.advice
    chosen = advice.chosen
    return {
        "model": want.name,
        "family": want.shape.family,
        "layers": list(want.shape.kinds()),
        "parameters": want.shape.parameters,
        "active_parameters": want.shape.active,
        "weights": {"bytes": round(want.weights.total), "origin": want.weights.origin},
        "context": want.context,
        "at_once": want.at_once,
        "cap": want.cap,
        "kv_cache": want.kv_cache,
        "drafts": want.drafts,
        "recommended": answer.found.layouts.index(chosen) if chosen in answer.found.layouts else None,
        "enough": advice.enough,
        "reasons": list(advice.reasons),
        "changes": list(advice.changes),
        "layouts": [_layout(layout) for layout in answer.found.layouts],
        "misfits": {what: misfit.why for what, misfit in answer.found.misfits.items()},
    }


def outcome(layout: Layout, found: Outcome) -> dict[str, Any]:
    """Given a layout and what a simulation of it gave, return it as JSON values."""
    parts = {name: dict(zip(("p50", "p95", "p99"), getattr(found, name), strict=True)) for name in _TIMES}
    return {
        "layout": layout.title,
        "done": found.done,
        "refused": found.refused,
        "seconds": found.seconds,
        "tokens_per_second": found.throughput,
        "requests_per_minute": found.per_minute,
        **parts,
    }


_TIMES = ("waited", "first", "whole")


def _layout(layout: Layout) -> dict[str, Any]:
    return {
        "mode": layout.mode,
        "title": layout.title,
        "boxes": list(layout.boxes),
        "tokens_per_second": layout.throughput,
        "one_stream": layout.one,
        "at_once": _finite(layout.at_once),
        "survives": {box: list(left) for box, left in layout.survives().items()},
        "backends": [_backend(backend) for backend in layout.backends],
    }


def _backend(backend: Backend) -> dict[str, Any]:
    speed = MEASURED if backend.timed else COMPUTED
    return {
        "name": backend.name,
        "tensor_parallel": backend.tp,
        "layers": list(backend.layers),
        "uneven": backend.uneven,
        "cache": {
            "blocks": backend.blocks,
            "logged_tokens": backend.tokens,
            "tokens": backend.holds,
            "at_once": _finite(backend.at_once),
            "longest": backend.longest,
            "origin": backend.cache_origin,
        },
        "one_stream": {"tokens_per_second": backend.one, "origin": speed},
        "at_cap": {"requests": backend.requests, "tokens_per_second": backend.all, "origin": speed},
        "prompt": {"seconds": backend.reads, "origin": MEASURED if backend.read_timed else COMPUTED},
        "start": {"seconds": backend.starts, "origin": MEASURED if backend.started else ASSUMED},
        "cards": [_use(used) for used in backend.uses],
    }


def _use(used: Use) -> dict[str, Any]:
    beside = used.overhead
    return {
        "box": used.box,
        "card": used.card.name,
        "memory": round(used.card.memory),
        "weights": round(used.weights),
        "cache": round(used.cache),
        "activations": {"bytes": round(beside.activations), "origin": beside.origin},
        "runtime": {"bytes": round(beside.runtime), "origin": beside.origin},
        "graphs": {"bytes": round(beside.graphs), "origin": beside.origin},
        "others": round(used.others),
        "left": round(used.left),
        "utilization": used.share,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
