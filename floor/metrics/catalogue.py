"""What engines' metrics mean: how gauges of several copies become one, what was renamed, and floor's own names.

Nothing is guessed by a name. Counters, histograms and summaries add; a gauge does what stands here; what does not stand
here is shown for each copy alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from .values import Kind


class Mode(StrEnum):
    """How the gauges of several copies become one."""

    SUM = "sum"
    MEAN = "mean"
    """Weighted by the size of each copy's KV cache: two copies at 40 % are at 40 %
    (GoogleCloudPlatform/monitoring-dashboard-samples#1188)."""
    MAX = "max"


GAUGES: Mapping[str, Mode] = MappingProxyType(
    {
        "vllm:num_requests_running": Mode.SUM,
        "vllm:num_requests_waiting": Mode.SUM,
        "vllm:num_requests_waiting_by_reason": Mode.SUM,
        "vllm:num_requests_swapped": Mode.SUM,
        "vllm:kv_cache_usage_perc": Mode.MEAN,
        "llamacpp:requests_processing": Mode.SUM,
        "llamacpp:requests_deferred": Mode.SUM,
        "llamacpp:kv_cache_usage_ratio": Mode.MEAN,
        "llamacpp:kv_cache_tokens": Mode.SUM,
        "llamacpp:n_tokens_max": Mode.MAX,
    }
)

# The present name, and the one before it where both mean the same. vLLM's prefix_cache_queries and _hits are not here:
# under their older names some releases counted blocks, and tokens since.
ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "vllm:gpu_cache_usage_perc": "vllm:kv_cache_usage_perc",  # vllm-project/vllm#18354
        "vllm:time_per_output_token_seconds": "vllm:inter_token_latency_seconds",  # vllm-project/vllm#24110
    }
)

# Called a counter by the engine, and none: the longest sequence so far.
MISNAMED: Mapping[str, Kind] = MappingProxyType({"llamacpp:n_tokens_max": Kind.GAUGE})

STARTED = "process_start_time_seconds"
# Labels that tell parts of one engine apart: the sum over copies is over them, too.
WITHIN = frozenset({"engine"})


@dataclass(frozen=True)
class Source:
    """Where an engine has a figure: in the sum of these families, of which the first must be there. `without`: series
    that have one of these labels do not count. `count`: not the histogram but how often it was fed."""

    families: tuple[str, ...]
    without: Mapping[str, frozenset[str]] = field(default_factory=dict)
    count: bool = False


@dataclass(frozen=True)
class Figure:
    """One number that engines of several kinds have, as floor_copy_NAME and floor_model_NAME. `mode` is a gauge's."""

    name: str
    kind: Kind
    help: str
    vllm: Source | None = None
    llamacpp: Source | None = None
    mode: Mode | None = None

    def source(self, dialect: str) -> Source | None:
        return {"vllm": self.vllm, "llamacpp": self.llamacpp}.get(dialect)


def _of(*families: str) -> Source:
    return Source(families)


USAGE, CACHE, RESIDENT, ON_CARD, LOADED = (
    "kv_cache_usage_ratio",
    "kv_cache_tokens",
    "resident_bytes",
    "resident_gpu_bytes",
    "loaded",
)
# An abort or an error is no answer.
_ANSWERED = Source(("vllm:request_success_total",), {"finished_reason": frozenset({"abort", "error"})})

FIGURES: tuple[Figure, ...] = (
    Figure(
        "requests_running",
        Kind.GAUGE,
        "Requests that are being answered.",
        _of("vllm:num_requests_running"),
        _of("llamacpp:requests_processing"),
        Mode.SUM,
    ),
    Figure(
        "requests_waiting",
        Kind.GAUGE,
        "Requests in the engine's queue.",
        _of("vllm:num_requests_waiting"),
        _of("llamacpp:requests_deferred"),
        Mode.SUM,
    ),
    Figure(
        USAGE,
        Kind.GAUGE,
        "Used part of the KV cache, 0 to 1; of several copies weighted by their size.",
        _of("vllm:kv_cache_usage_perc"),
        _of("llamacpp:kv_cache_usage_ratio"),
        Mode.MEAN,
    ),
    Figure(CACHE, Kind.GAUGE, "Tokens that the KV cache holds.", mode=Mode.SUM),
    Figure(
        RESIDENT,
        Kind.GAUGE,
        "Bytes of a model that is loaded when it is asked for.",
        mode=Mode.SUM,
    ),
    Figure(ON_CARD, Kind.GAUGE, "Bytes of it in the memory of cards.", mode=Mode.SUM),
    Figure(LOADED, Kind.GAUGE, "Whether a model that is loaded when it is asked for is in memory.", mode=Mode.SUM),
    Figure(
        "generated_tokens_total",
        Kind.COUNTER,
        "Tokens generated. llama.cpp counts them when a request ends.",
        _of("vllm:generation_tokens_total"),
        _of("llamacpp:tokens_predicted_total"),
    ),
    Figure(
        "prompt_tokens_total",
        Kind.COUNTER,
        "Tokens of prompts, those found in the cache included.",
        _of("vllm:prompt_tokens_total"),
        _of("llamacpp:prompt_tokens_total", "llamacpp:prompt_tokens_cached_total"),
    ),
    Figure(
        "prompt_tokens_cached_total",
        Kind.COUNTER,
        "Tokens of prompts that were found in the cache.",
        _of("vllm:prompt_tokens_cached_total"),
        _of("llamacpp:prompt_tokens_cached_total"),
    ),
    Figure("requests_answered_total", Kind.COUNTER, "Requests that ended in an answer.", _ANSWERED),
    Figure(
        "steps_total",
        Kind.COUNTER,
        "Steps of the engine's scheduler.",
        Source(("vllm:iteration_tokens_total",), count=True),
        _of("llamacpp:n_decode_total"),
    ),
    Figure(
        "preemptions_total",
        Kind.COUNTER,
        "Requests that lost their cache to others and began anew.",
        _of("vllm:num_preemptions_total"),
    ),
    Figure(
        "draft_tokens_total",
        Kind.COUNTER,
        "Tokens drafted by speculative decoding.",
        _of("vllm:spec_decode_num_draft_tokens_total"),
        _of("llamacpp:spec_decode_num_draft_tokens_total"),
    ),
    Figure(
        "draft_tokens_accepted_total",
        Kind.COUNTER,
        "Drafted tokens that were right.",
        _of("vllm:spec_decode_num_accepted_tokens_total"),
        _of("llamacpp:spec_decode_num_accepted_tokens_total"),
    ),
    Figure(
        "time_to_first_token_seconds",
        Kind.HISTOGRAM,
        "Time from a request's arrival in the engine to its first token.",
        _of("vllm:time_to_first_token_seconds"),
    ),
    Figure(
        "inter_token_seconds",
        Kind.HISTOGRAM,
        "Time between two tokens of an answer.",
        _of("vllm:inter_token_latency_seconds"),
    ),
    Figure(
        "request_seconds",
        Kind.HISTOGRAM,
        "Time from a request's arrival in the engine to its last token.",
        _of("vllm:e2e_request_latency_seconds"),
    ),
    Figure(
        "queue_seconds",
        Kind.HISTOGRAM,
        "Time that requests waited in the engine's queue.",
        _of("vllm:request_queue_time_seconds"),
    ),
)
