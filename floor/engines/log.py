"""What vLLM says of itself while it starts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

_NUMBER = r"([0-9][0-9,]*(?:\.[0-9]+)?)"
# Older releases say GB, and divided by 2**30 all the same.
_WEIGHTS = re.compile(rf"(?:Model loading|Loading model weights) took {_NUMBER} Gi?B")
_SECONDS = re.compile(rf"(?:Model loading|Loading model weights) took [^,]*? and {_NUMBER} seconds")
_AVAILABLE = re.compile(r"Available KV cache memory: (-?[0-9][0-9,]*(?:\.[0-9]+)?) GiB")
_TOKENS = re.compile(rf"\b([A-Z]+)(?: \+ host)? KV cache size: {_NUMBER} tokens")
_CONCURRENCY = re.compile(rf"Maximum concurrency for {_NUMBER} tokens per request: {_NUMBER}x")
_GRAPHS = re.compile(r"Estimated CUDA graph memory: (-?[0-9][0-9,]*(?:\.[0-9]+)?) GiB")
_CAPTURED = re.compile(rf"Graph capturing finished in {_NUMBER} secs?, took {_NUMBER} GiB")


@dataclass(frozen=True)
class Start:
    """What a start's log told; None where it told nothing.

    Memory is in GiB and of one card: with several, the largest share of the weights and the smallest cache, which is
    what a request meets. `tokens` are those of the whole cache (what vLLM counts as such changed between 0.19 and
    0.20.1), `concurrency` how many requests of `context` tokens fit at once, `device` GPU, CPU or another word.
    """

    weights: float | None = None
    load_seconds: float | None = None
    available: float | None = None
    tokens: int | None = None
    device: str | None = None
    context: int | None = None
    concurrency: float | None = None
    graphs_estimated: float | None = None
    graphs: float | None = None
    graph_seconds: float | None = None

    @staticmethod
    def of(kept: Mapping[str, Any]) -> Start:
        """Given what was kept of a start, by this release of floor or another one, return it: what this one knows."""
        known = [field.name for field in fields(Start)]
        return Start(**{name: kept[name] for name in known if name in kept})


def parse(lines: Iterable[str]) -> Start:
    """Given the log lines of one start, with or without prefixes of loggers and processes, return what they tell.

    One line or two for the cache, `GPU` or `CPU` before it: both are read.
    """
    text = "\n".join(lines)
    weights = [_number(size) for size in _WEIGHTS.findall(text)]
    sizes = [(int(_number(tokens)), device) for device, tokens in _TOKENS.findall(text)]
    tokens, device = min(sizes, default=(None, None))
    fits = [(_number(times), int(_number(context))) for context, times in _CONCURRENCY.findall(text)]
    concurrency, context = min(fits, default=(None, None))
    captured = [(_number(seconds), _number(size)) for seconds, size in _CAPTURED.findall(text)]
    return Start(
        weights=max(weights, default=None),
        load_seconds=max(map(_number, _SECONDS.findall(text)), default=None),
        available=min(map(_number, _AVAILABLE.findall(text)), default=None),
        tokens=tokens,
        device=device,
        context=context,
        concurrency=concurrency,
        graphs_estimated=_gravest([_number(size) for size in _GRAPHS.findall(text)]),
        graphs=max((size for _, size in captured), default=None),
        graph_seconds=max((seconds for seconds, _ in captured), default=None),
    )


def _gravest(estimates: list[float]) -> float | None:
    """The largest of several cards' estimates; one below zero is a defect that the others must not hide."""
    return min(estimates) if any(one < 0 for one in estimates) else max(estimates, default=None)


def _number(text: str) -> float:
    return float(text.replace(",", ""))
