"""Two looks at the copies as one answer for a person or a script: what they do now. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from .copies import Copy
from .merge import Part
from .values import Histogram, Value

NOW = ("requests_running", "requests_waiting", "kv_cache_usage_ratio", "kv_cache_tokens", "loaded")
RATES = {
    "generated_tokens_per_second": "generated_tokens_total",
    "prompt_tokens_per_second": "prompt_tokens_total",
    "requests_per_second": "requests_answered_total",
}
TOTALS = ("generated_tokens_total", "prompt_tokens_total", "requests_answered_total", "preemptions_total")
TIMES = ("time_to_first_token_seconds", "inter_token_seconds", "request_seconds", "queue_seconds")
SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


def compose(
    copies: Sequence[Copy],
    before: Sequence[Part],
    now: Sequence[Part],
    models: Mapping[str, Mapping[str, Value]],
    models_before: Mapping[str, Mapping[str, Value]],
    seconds: float,
) -> dict[str, Any]:
    """Given the copies, their parts at two moments `seconds` apart and floor's figures of each model at both, return
    what `floor metrics --json` prints. What is not known is null, never 0."""
    earlier = {part.copy: part.figures for part in before}
    later = {part.copy: part.figures for part in now}
    return {
        "seconds": round(seconds, 3),
        "models": {
            model: {
                "copies": sum(copy.backend.model == model for copy in copies),
                "up": sum(copy.backend.model == model and copy.latest.up for copy in copies),
                **figures(models_before.get(model, {}), found, seconds),
            }
            for model, found in models.items()
        },
        "copies": [
            {
                "copy": copy.backend.name,
                "box": copy.backend.box,
                "model": copy.backend.model,
                "up": copy.latest.up,
                "reason": copy.latest.reason,
                "detail": copy.latest.detail,
                **figures(earlier.get(copy.backend.name, {}), later.get(copy.backend.name, {}), seconds),
            }
            for copy in copies
        ],
    }


def figures(before: Mapping[str, Value], now: Mapping[str, Value], seconds: float) -> dict[str, Any]:
    """Given figures at two moments, return those of now, rates between both, and shares of the times in between."""
    return {
        **{name: _number(now.get(name)) for name in NOW},
        **{name: _rate(before.get(source), now.get(source), seconds) for name, source in RATES.items()},
        **{name: _number(now.get(name)) for name in TOTALS},
        **{name: _times(before.get(name), now.get(name)) for name in TIMES},
    }


def _number(value: Value | None) -> float | None:
    return value if isinstance(value, float) and math.isfinite(value) else None


def _rate(before: Value | None, now: Value | None, seconds: float) -> float | None:
    if not isinstance(before, float) or not isinstance(now, float) or seconds <= 0:
        return None
    return round(max(0.0, now - before) / seconds, 3)


def _times(before: Value | None, now: Value | None) -> dict[str, float | None] | None:
    """Shares of what came between both, None where nothing did."""
    if not isinstance(before, Histogram) or not isinstance(now, Histogram) or before.bounds != now.bounds:
        return None
    counts = tuple(max(0.0, new - old) for new, old in zip(now.counts, before.counts, strict=True))
    between = Histogram(now.bounds, counts, None)
    if not between.count:
        return None
    return {name: quantile(between, share) for name, share in SHARES.items()}


def quantile(histogram: Histogram, share: float) -> float | None:
    """Given a histogram and a share (0.5: the median), return the value below which that share lies, as Prometheus'
    histogram_quantile reckons it: evenly spread within a bucket; the last finite bound where it lies beyond that.

    None for an empty histogram, or one of a single bucket.
    """
    finite = [bound for bound in histogram.bounds if bound < math.inf]
    if not histogram.count or not finite:
        return None
    rank = share * histogram.count
    below, low = 0.0, min(0.0, finite[0])
    for bound, count in zip(histogram.bounds, histogram.counts, strict=True):
        if count >= rank and bound == math.inf:
            return finite[-1]
        if count >= rank:
            within = count - below
            return bound if not within else low + (bound - low) * (rank - below) / within
        below, low = count, bound
    return finite[-1]
