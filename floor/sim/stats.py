"""What an engine has counted since it started: counters and histograms, by family and labels."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence as Values
from dataclasses import dataclass, field

from floor.sim.scheduler import Event, Sequence

Labels = tuple[tuple[str, str], ...]


def labels(**pairs: str) -> Labels:
    return tuple(sorted(pairs.items()))


@dataclass
class Histogram:
    """Observations sorted into buckets. `counts` is per bucket, not cumulative; the last is beyond every bound."""

    bounds: Values[float]
    counts: list[int] = field(default_factory=list)
    total: float = 0.0

    def __post_init__(self) -> None:
        self.counts = [0] * (len(self.bounds) + 1)

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


@dataclass
class Released:
    """What llama.cpp counts, when a request gives its slot back: tokens and seconds, of prompts and of answers."""

    prompt: int = 0
    prompt_seconds: float = 0.0
    generated: int = 0
    seconds: float = 0.0
    longest: int = 0

    def take(self, sequence: Sequence, at: float, embeds: bool) -> None:
        """Count a request that ended at `at`, however it ended; `embeds`: it made no tokens."""
        if sequence.admitted is None:
            return
        first = at if sequence.first_token is None else sequence.first_token
        self.prompt += sequence.prompt if sequence.prefilled else 0
        self.prompt_seconds += first - sequence.admitted
        self.generated += 0 if embeds else sequence.generated
        self.seconds += at - first
        self.longest = max(self.longest, sequence.tokens)


@dataclass
class Stats:
    """Observations are kept as they come; `page` sorts them into each family's buckets."""

    bounds: dict[str, tuple[float, ...]]
    counters: defaultdict[tuple[str, Labels], float] = field(default_factory=lambda: defaultdict(float))
    histograms: dict[tuple[str, Labels], Histogram] = field(default_factory=dict)
    embeds: bool = False
    steps: int = 0
    released: Released = field(default_factory=Released)

    def count(self, family: str, by: float = 1.0, **label: str) -> None:
        self.counters[family, labels(**label)] += by

    def observe(self, family: str, value: float, **label: str) -> None:
        key = family, labels(**label)
        if key not in self.histograms:
            self.histograms[key] = Histogram(self.bounds[family])
        self.histograms[key].observe(value)

    def take(self, event: Event) -> None:
        """Count what the scheduler reports."""
        if event.kind == "iteration":
            self.steps += 1
            self.observe("vllm:iteration_tokens_total", event.tokens)
        elif event.kind == "preempted":
            self.count("vllm:num_preemptions_total")
        elif event.kind == "token" and event.sequence is not None:
            if not self.embeds:
                self.count("vllm:generation_tokens_total")
            if event.since_last is not None:
                self.observe("vllm:inter_token_latency_seconds", event.since_last)
            else:
                self._first_token(event.sequence, event.at)

    def _first_token(self, sequence: Sequence, at: float) -> None:
        self.observe("vllm:time_to_first_token_seconds", at - sequence.arrived)
        self.count("vllm:prompt_tokens_total", sequence.prompt)
        self.count("vllm:prompt_tokens_by_source_total", sequence.prompt, source="local_compute")
        self.count("vllm:prefix_cache_queries_total", sequence.prompt)

    def finish(self, sequence: Sequence, at: float, reason: str, max_tokens: int, choices: int) -> None:
        """A generation ended: `reason` is stop, length, abort or error. Only whole ones enter the histograms."""
        self.count("vllm:request_success_total", finished_reason=reason)
        self.released.take(sequence, at, self.embeds)
        if sequence.admitted is None or sequence.first_token is None or reason in ("abort", "error"):
            return
        generated, first = sequence.generated, sequence.first_token
        decode = at - first
        for family, value in (
            ("request_prompt_tokens", sequence.prompt),
            ("request_generation_tokens", generated),
            ("request_max_num_generation_tokens", generated),
            ("request_params_n", choices),
            ("request_params_max_tokens", max_tokens),
            ("e2e_request_latency_seconds", at - sequence.arrived),
            ("request_queue_time_seconds", sequence.admitted - sequence.arrived),
            ("request_inference_time_seconds", at - sequence.admitted),
            ("request_prefill_time_seconds", first - sequence.admitted),
            ("request_decode_time_seconds", decode),
            ("request_num_preemptions", sequence.preemptions),
            ("request_prefill_kv_computed_tokens", sequence.prompt),
        ):
            self.observe(f"vllm:{family}", value)
        if generated > 1:
            self.observe("vllm:request_time_per_output_token_seconds", decode / (generated - 1))
