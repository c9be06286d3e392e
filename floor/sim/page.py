"""The /metrics page: every family of a real vLLM's, in its order, with its types and labels."""

from __future__ import annotations

import gc
import json
import os
import platform
import resource
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

from floor.sim.scheduler import Scheduler
from floor.sim.settings import Settings
from floor.sim.stats import Histogram, Labels, Stats, labels

FAMILIES = Path(__file__).with_name("families.json")


@cache
def families() -> tuple[Mapping[str, Any], ...]:
    """The table of families. `bounds` may be "1-2-5": then they follow the context; see `bounds_of`."""
    return tuple(json.loads(FAMILIES.read_text()))


def bounds_of(longest: int) -> dict[str, tuple[float, ...]]:
    """Each histogram's bucket bounds, for an engine whose context is `longest` tokens."""
    found = {}
    for family in families():
        bounds = family.get("bounds")
        found[family["name"]] = one_two_five(longest) if bounds == "1-2-5" else tuple(bounds or ())
    return found


def one_two_five(longest: int) -> tuple[float, ...]:
    """1, 2, 5, 10, 20, 50 … up to `longest`: vLLM's buckets for counts of tokens."""
    powers = (10**power for power in range(len(str(longest))))
    return tuple(float(m * power) for power in powers for m in (1, 2, 5) if m * power <= longest)


@dataclass(frozen=True)
class Snapshot:
    """What a page shows: the engine's state at one moment, and when it started (unix seconds)."""

    settings: Settings
    stats: Stats
    scheduler: Scheduler
    started: float
    asleep: bool = False


def render(snapshot: Snapshot) -> str:
    """The page's text, with a newline at its end."""
    return "\n".join(line for family in families() for line in _family(family, snapshot)) + "\n"


def _family(family: Mapping[str, Any], snapshot: Snapshot) -> Iterator[str]:
    name, kind = family["name"], family["type"]
    yield f"# HELP {name} {family['help']}"
    yield f"# TYPE {name} {kind}"
    sets = _label_sets(family, snapshot)
    for own, shown in sets:
        yield from _samples(name, kind, own, shown, snapshot)
    if family.get("created"):
        created = (name.removesuffix("_total") if kind == "counter" else name) + "_created"
        yield f"# HELP {created} {family['help']}"
        yield f"# TYPE {created} gauge"
        for _, shown in sets:
            yield _line(created, shown, snapshot.started)


def _label_sets(family: Mapping[str, Any], snapshot: Snapshot) -> list[tuple[Labels, Labels]]:
    """(labels a value is kept under, labels it is shown with) of each sample."""
    name = family["name"]
    if "info" in family:
        return [((), labels(**family["info"], **_cache(snapshot.settings), engine="0"))]
    if name.startswith("vllm:"):
        more = _engine(snapshot, family["engine"])
        return [(labels(**extra), labels(**extra, **more)) for extra in family.get("labels", [{}])]
    if name.startswith("python_gc"):
        return [(own, own) for own in (labels(generation=str(g)) for g in range(3))]
    if name == "python_info":
        return [((), _python())]
    if name.startswith("process_"):
        return [((), ())]
    kept = (*snapshot.stats.counters, *snapshot.stats.histograms)
    return [(own, own) for kind, own in dict.fromkeys(kept) if kind == name]


def _engine(snapshot: Snapshot, engine: bool) -> dict[str, str]:
    model = {"model_name": snapshot.settings.served_names[0]}
    return {"engine": "0", **model} if engine else model


def _samples(name: str, kind: str, own: Labels, shown: Labels, snapshot: Snapshot) -> Iterator[str]:
    stats = snapshot.stats
    if kind in ("histogram", "summary"):
        yield from _histogram(name, kind, stats.histograms.get((name, own)), shown, stats.bounds[name])
    elif kind == "counter" and name.startswith(("vllm:", "http_")):
        yield _line(name, shown, stats.counters.get((name, own), 0.0))
    else:
        yield _line(name, shown, _gauge(name, dict(own), snapshot))


def _histogram(name: str, kind: str, found: Histogram | None, shown: Labels, bounds: Sequence[float]) -> Iterator[str]:
    histogram = found or Histogram(bounds)
    sums = list(accumulate(histogram.counts))
    if kind == "histogram":
        for bound, total in zip((*map(str, bounds), "+Inf"), sums, strict=True):
            yield _line(f"{name}_bucket", labels(**dict(shown), le=bound), total)
    yield _line(f"{name}_count", shown, sums[-1])
    yield _line(f"{name}_sum", shown, histogram.total)


def _gauge(name: str, own: Mapping[str, str], snapshot: Snapshot) -> float:
    scheduler = snapshot.scheduler
    if name.startswith("vllm:"):
        return {
            "vllm:num_requests_running": len(scheduler.running),
            "vllm:num_requests_waiting": len(scheduler.waiting),
            "vllm:num_requests_waiting_by_reason": len(scheduler.waiting) if own.get("reason") == "capacity" else 0,
            "vllm:engine_sleep_state": own.get("sleep_state") == ("weights_offloaded" if snapshot.asleep else "awake"),
            "vllm:kv_cache_usage_perc": scheduler.cache_usage,
            "vllm:cache_config_info": 1,
        }[name]
    if name.startswith("python_gc"):
        key = name.removeprefix("python_gc_").removeprefix("objects_").removesuffix("_total")
        return float(gc.get_stats()[int(own["generation"])][key])
    if name == "python_info":
        return 1
    return snapshot.started if name == "process_start_time_seconds" else _process()[name]


def _process() -> dict[str, float]:
    pages = [int(part) for part in Path("/proc/self/statm").read_text().split()[:2]]
    times = os.times()
    return {
        "process_virtual_memory_bytes": pages[0] * resource.getpagesize(),
        "process_resident_memory_bytes": pages[1] * resource.getpagesize(),
        "process_cpu_seconds_total": times.user + times.system,
        "process_open_fds": len(os.listdir("/proc/self/fd")),  # noqa: PTH208  # names only, no Path for each
        "process_max_fds": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
    }


def _python() -> Labels:
    major, minor, patch = platform.python_version_tuple()
    name, version = platform.python_implementation(), platform.python_version()
    return labels(implementation=name, major=major, minor=minor, patchlevel=patch, version=version)


def _cache(settings: Settings) -> dict[str, str]:
    """The cache's own figures, as `cache_config_info` carries them."""
    return {
        "block_size": str(settings.block_size),
        "effective_attention_block_size": str(settings.block_size),
        "cache_dtype": settings.kv_cache_dtype,
        "gpu_memory_utilization": str(settings.gpu_memory_utilization),
        "kv_cache_max_concurrency": str(settings.kv_tokens / settings.max_model_len),
        "kv_cache_memory_bytes": str(round(settings.simulation.kv_gib * 2**30)),
        "kv_cache_size_tokens": str(settings.kv_tokens),
        "num_gpu_blocks": str(settings.kv_tokens // settings.block_size),
    }


def _line(name: str, shown: Labels, value: float) -> str:
    inside = ",".join(f'{key}="{_escape(text)}"' for key, text in shown)
    return f"{name}{{{inside}}} {_number(value)}" if inside else f"{name} {_number(value)}"


def _number(value: float) -> str:
    """As prometheus_client writes it: an exponent from seven digits before the point on."""
    text = repr(float(value))
    whole, point, rest = text.partition(".")
    if len(whole) <= 6 or not point or "e" in text:
        return text
    return f"{whole[0]}.{whole[1:]}{rest}".rstrip("0.") + f"e+0{len(whole) - 1}"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
