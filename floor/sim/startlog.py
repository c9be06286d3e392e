"""The lines of vLLM's start log that carry figures, in its own format."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime

from floor.sim.settings import VERSION, Settings


def before(settings: Settings) -> Iterator[str]:
    """What is logged as loading begins."""
    yield _line("APIServer", "api_utils.py", 347, f"vLLM server version {VERSION}, model {settings.model}")
    begin = f"Initializing a V1 LLM engine (v{VERSION}) with config: model={settings.model!r}"
    yield _line("EngineCore", "core.py", 133, begin)


def measured(settings: Settings) -> Iterator[str]:
    """What is logged once the weights are in and the cache is measured out; graphs are captured after it."""
    tokens, longest = settings.kv_tokens, settings.max_model_len
    simulation = settings.simulation
    yield _line(
        "Worker",
        "gpu_model_runner.py",
        4820,
        f"Model loading took {simulation.model_gib:.2f} GiB memory and {settings.load_time:.6f} seconds",
    )
    yield _line("Worker", "gpu_worker.py", 423, f"Available KV cache memory: {simulation.kv_gib:.2f} GiB")
    device = _device(settings)
    yield _line(
        "EngineCore",
        "kv_cache_utils.py",
        2327,
        f"{device} KV cache size: {tokens:,} tokens, "
        f"Maximum concurrency for {longest:,} tokens per request: {tokens / longest:.2f}x",
    )
    if device == "GPU":
        estimate = f"Estimated CUDA graph memory: {simulation.graphs_gib:.2f} GiB total"
        yield _line("Worker", "gpu_model_runner.py", 5910, estimate)


def after(settings: Settings) -> Iterator[str]:
    """What is logged right before it serves."""
    if _device(settings) == "GPU":
        yield _line("Worker", "gpu_model_runner.py", 5987, "Graph capturing finished in 5 secs, took 0.55 GiB")
    host = settings.host or "0.0.0.0"  # noqa: S104  # what vLLM logs; nothing is bound here
    yield _line("APIServer", "entry.py", 140, f"Starting vLLM server on http://{host}:{settings.port}")


def _device(settings: Settings) -> str:
    return "CPU" if any(fault.kind == "slow" for fault in settings.simulation.fault) else "GPU"


def _line(process: str, file: str, number: int, text: str) -> str:
    now = datetime.now().astimezone()
    return f"({process} pid={os.getpid()}) INFO {now:%m-%d %H:%M:%S} [{file}:{number}] {text}"
