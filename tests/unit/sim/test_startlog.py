"""The start log, read the way a parser of vLLM's own would."""

from __future__ import annotations

import re
from pathlib import Path

from floor.sim import faults, startlog
from floor.sim.settings import Settings, Simulation

SIZE = re.compile(
    r"INFO \d\d-\d\d \d\d:\d\d:\d\d \[kv_cache_utils\.py:\d+\] "
    r"(?P<device>\w+) KV cache size: (?P<tokens>[\d,]+) tokens, "
    r"Maximum concurrency for (?P<context>[\d,]+) tokens per request: (?P<times>[\d.]+)x"
)


def log(**simulation: object) -> str:
    settings = Settings(model="/models/x", max_model_len=262_144, simulation=Simulation(**simulation))  # type: ignore[arg-type]
    return "\n".join([*startlog.before(settings), *startlog.measured(settings), *startlog.after(settings)])


def found(text: str) -> dict[str, str]:
    match = SIZE.search(text)
    assert match is not None
    return match.groupdict()


def test_the_cache_line_has_the_captured_form(vllm: Path) -> None:
    captured = found((vllm / "start_log_lines.txt").read_text())
    ours = found(log(kv_tokens=760_000))
    assert captured == {"device": "CPU", "tokens": "262,144", "context": "2,048", "times": "128.00"}
    assert ours == {"device": "GPU", "tokens": "760,000", "context": "262,144", "times": "2.90"}


def test_figures_of_weights_and_memory_are_there() -> None:
    text = log(model_gib=71, kv_gib=24.5, load_time=43)
    assert "Model loading took 71.00 GiB memory and 43.000000 seconds" in text
    assert "Available KV cache memory: 24.50 GiB" in text
    assert "Estimated CUDA graph memory: 0.55 GiB total" in text
    assert "Graph capturing finished" in text


def test_an_engine_that_fell_back_to_the_cpu_shows_it_in_its_log() -> None:
    text = log(fault=(faults.make("slow"),))
    assert found(text)["device"] == "CPU"
    assert "CUDA graph" not in text
