"""What each kind of engine asks of a copy, and what it does not have."""

from __future__ import annotations

from collections.abc import Iterator

from floor.config.check import parts
from floor.config.model import Config
from floor.config.problem import Problem
from floor.engines import llamacpp, ollama

_CACHE_TYPES = {"llamacpp": llamacpp.CACHE_TYPES, "ollama": ollama.CACHE_TYPES}
_TITLES = {"llamacpp": "llama.cpp", "ollama": "Ollama"}
_SHARES = ("utilization", "cache_memory")


def check(config: Config) -> Iterator[Problem]:
    """Given a configuration, yield what is wrong with its managed copies of engines other than vLLM, and warnings."""
    told: set[tuple[object, ...]] = set()
    for placed in parts.copies(config):
        if placed.box.managed and placed.resolved.engine in _TITLES:
            for problem in _copy(placed, config.proxy.direct):
                if problem.path not in told:
                    yield problem
                told.add(problem.path)


def _copy(placed: parts.Placed, direct: str) -> Iterator[Problem]:
    copy, title = placed.resolved, _TITLES[placed.resolved.engine]
    for key in _SHARES:
        if getattr(copy, key) is not None:
            write = f"nothing here ({title} has no such limit: it takes what context, max_requests and kv_cache need)"
            yield Problem(placed.where(key), write, key)
    types = _CACHE_TYPES[copy.engine]
    if copy.kv_cache not in ("auto", *types):
        yield Problem(placed.where("kv_cache"), f"auto, or a type that {title} has: {', '.join(types)}")
    if copy.engine == "llamacpp":
        yield from _llamacpp(placed)
    else:
        yield _keyless(placed, direct)


def _keyless(placed: parts.Placed, direct: str) -> Problem:
    """Ollama asks nobody for a key; only the firewall stands before it, and `direct: warn` opens that."""
    if direct == "warn":
        write = "deny: Ollama asks nobody for a key, so whoever reaches the box can use, pull and delete its models"
        return Problem(("proxy", "direct"), write, warning=True)
    write = (
        "llamacpp or vllm where that is not enough: Ollama asks nobody for a key, and only floor's firewall keeps "
        "others from using, pulling and deleting its models"
    )
    return Problem(placed.where("engine"), write, warning=True)


def _llamacpp(placed: parts.Placed) -> Iterator[Problem]:
    copy = placed.resolved
    if copy.source and not copy.source.endswith(".gguf"):
        yield Problem(
            placed.where("source"), "the model's .gguf file (of several parts the first), such as /models/small.gguf"
        )
    if copy.context is None and (copy.max_requests or 1) > 1:
        write = (
            f"the longest request in tokens: llama.cpp divides its context among max_requests ({copy.max_requests}), "
            "without this each would get a small part of the model's"
        )
        yield Problem(placed.where("context"), write, "nothing")
