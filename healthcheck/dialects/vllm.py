"""vLLM: `/health`, `/v1/models`, `/metrics`, and its metric names with the older ones they replaced."""

from __future__ import annotations

from ..exposition import Family, read
from ..load import Load
from . import openai
from .dialect import Dialect

# An abort or an error is not an answer: a dead scheduler's clients leave too.
_NOT_ANSWERED = (b'finished_reason="abort"', b'finished_reason="error"')

_FAMILIES = {
    "running": Family((b"vllm:num_requests_running",)),
    "waiting": Family((b"vllm:num_requests_waiting",)),
    # One fraction for each engine of a data-parallel server: added up, two at 40 % would read 80 %.
    "usage": Family((b"vllm:kv_cache_usage_perc", b"vllm:gpu_cache_usage_perc"), merge=max),
    "generated": Family((b"vllm:generation_tokens_total",)),
    "prompted": Family((b"vllm:prompt_tokens_total",)),
    "steps": Family((b"vllm:iteration_tokens_total_count",)),
    "finished": Family((b"vllm:request_success_total",), without=_NOT_ANSWERED),
    # With several API processes the page has none: then only counters that go backwards show a restart.
    "started": Family((b"process_start_time_seconds",), merge=max),
}


def load(body: bytes) -> Load | None:
    """Given a metrics page, return its counts; None if it has no metric of vLLM's."""
    found = read(body, _FAMILIES)
    if not found.keys() - {"started"}:
        return None
    return Load(**found)  # type: ignore[arg-type]  # numbers, by the names of their fields


def loading(status: int, body: bytes) -> bool:
    """Whether the answer says that the model is still being loaded."""
    return status == 503 and b"loading" in body[:4096].lower()


VLLM = Dialect(
    name="vllm",
    health="/health",
    models="/v1/models",
    metrics="/metrics",
    generations=openai.generations,
    served=openai.served,
    load=load,
    tokens=openai.tokens,
    loading=loading,
)
