"""llama.cpp's /metrics and /slots, in the order of the captured ones."""

from __future__ import annotations

from typing import Any

from floor.sim.simulator import Simulator

# name, type, help
FAMILIES = (
    ("prompt_tokens_total", "counter", "Number of prompt tokens processed, excluding cached tokens"),
    ("prompt_tokens_cached_total", "counter", "Number of prompt tokens reused from the cache"),
    ("prompt_seconds_total", "counter", "Total time spent processing prompts"),
    ("tokens_predicted_total", "counter", "Number of generation tokens processed"),
    ("tokens_predicted_seconds_total", "counter", "Total time spent generating tokens"),
    (
        "n_decode_total",
        "counter",
        "Total number of llama_decode() calls, excluding speculative decoding and multimodal decoding",
    ),
    ("n_tokens_max", "counter", "Largest observed sequence length (prompt + generation)"),
    ("spec_decode_num_draft_tokens_total", "counter", "Speculative: Total draft tokens generated"),
    (
        "spec_decode_num_accepted_tokens_total",
        "counter",
        "Speculative: Total draft tokens accepted by the target model",
    ),
    ("spec_decode_num_drafts_total", "counter", "Speculative: Total speculative decoding verification steps"),
    ("prompt_tokens_seconds", "gauge", "Average prompt throughput in tokens/s"),
    ("predicted_tokens_seconds", "gauge", "Average generation throughput in tokens/s"),
    ("requests_processing", "gauge", "Number of requests processing"),
    ("requests_deferred", "gauge", "Number of requests deferred"),
    ("n_busy_slots_per_decode", "gauge", "Average number of busy slots per llama_decode() call"),
)


def render(sim: Simulator) -> str:
    """The page's text. Tokens are counted when a slot is released, steps as they are made."""
    values = _values(sim)
    lines = []
    for name, kind, words in FAMILIES:
        lines += [f"# HELP llamacpp:{name} {words}", f"# TYPE llamacpp:{name} {kind}"]
        lines.append(f"llamacpp:{name} {values.get(name, 0):.6g}")
    return "\n".join(lines) + "\n"


def slots(sim: Simulator) -> list[dict[str, Any]]:
    """/slots: one entry a slot, the busy ones with what they are at."""
    found: list[dict[str, Any]] = []
    running = list(sim.engine.scheduler.running)
    for number in range(sim.settings.max_num_seqs):
        slot: dict[str, Any] = {"id": number, "n_ctx": sim.settings.max_model_len, "speculative": False}
        slot["is_processing"] = number < len(running)
        if number < len(running):
            sequence = running[number]
            token = {"has_next_token": True, "has_new_line": False, "n_remain": sequence.want - sequence.generated}
            token["n_decoded"] = sequence.generated
            read = {"n_prompt_tokens": sequence.prompt, "n_prompt_tokens_processed": sequence.prompt}
            slot |= {"id_task": number, **read, "n_prompt_tokens_cache": 0, "params": {}, "next_token": [token]}
        found.append(slot)
    return found


def _values(sim: Simulator) -> dict[str, float]:
    released, scheduler = sim.stats.released, sim.engine.scheduler
    return {
        "prompt_tokens_total": released.prompt,
        "prompt_seconds_total": released.prompt_seconds,
        "tokens_predicted_total": released.generated,
        "tokens_predicted_seconds_total": released.seconds,
        "n_decode_total": sim.stats.steps,
        "n_tokens_max": released.longest,
        "prompt_tokens_seconds": released.prompt / released.prompt_seconds if released.prompt_seconds else 0,
        "predicted_tokens_seconds": released.generated / released.seconds if released.seconds else 0,
        "requests_processing": len(scheduler.running),
        "requests_deferred": len(scheduler.waiting),
        "n_busy_slots_per_decode": released.generated / sim.stats.steps if sim.stats.steps else 0,
    }
