"""This box and what its pool says, as families of the page."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from floor.box import memory, paths

from .values import Family, Kind, Labels, Value, add

# What nvidia-smi is asked, in this order. On a box whose GPU shares its memory the driver tells no memory: `[N/A]`.
GPU_FIELDS = ("index", "utilization.gpu", "memory.used", "memory.total", "temperature.gpu", "power.draw")
_GPU: tuple[tuple[str, str, float], ...] = (
    ("utilization_ratio", "Share of time that the card was busy.", 0.01),
    ("memory_used_bytes", "Memory of the card in use; absent where it shares the box's.", 1024.0 * 1024),
    ("memory_bytes", "Memory of the card; absent where it shares the box's.", 1024.0 * 1024),
    ("temperature_celsius", "Temperature of the card.", 1.0),
    ("power_watts", "Power that the card draws.", 1.0),
)


def gpus(text: str, box: str) -> list[Family]:
    """Given what `nvidia-smi --query-gpu=GPU_FIELDS --format=csv,noheader,nounits` printed, return its figures."""
    found: dict[str, dict[Labels, Value]] = {}
    for line in text.splitlines():
        index, *values = (word.strip() for word in line.split(","))
        if len(values) != len(_GPU):
            continue
        for (name, _, unit), word in zip(_GPU, values, strict=True):
            try:
                found.setdefault(name, {})[(("box", box), ("gpu", index))] = float(word) * unit
            except ValueError:
                continue  # [N/A]
    return [Family(f"floor_gpu_{name}", Kind.GAUGE, words, found[name]) for name, words, _ in _GPU if found.get(name)]


def box(name: str, root: Path, load: Callable[[], tuple[float, float, float]] = os.getloadavg) -> list[Family]:
    """Given this box's name, return its memory and load now."""
    seen = memory.read(root)
    labels: Labels = (("box", name),)
    wanted = (
        ("memory_bytes", "Memory of the box.", seen.total),
        ("memory_available_bytes", "Memory that a new process could have.", seen.available),
        ("load1", "Processes that run or want to, averaged over a minute.", load()[0]),
        ("cpus", "Processors of the box.", os.cpu_count()),
    )
    return [
        Family(f"floor_box_{what}", Kind.GAUGE, words, {labels: float(value)})
        for what, words, value in wanted
        if value is not None
    ]


def pool(state: Path, now: float) -> list[Family]:
    """Given where floor-pool reports, and unix seconds, return who is a member. Nothing where there is no report."""
    try:
        document = json.loads(state.read_text())
        members: dict[Labels, Value] = {
            (("copy", str(name)), ("model", str(model))): float(bool(backend["member"]))
            for model, found in document["pools"].items()
            for name, backend in found["backends"].items()
        }
        at = float(document["at"])
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return []
    counts: dict[Labels, Value] = {}
    for (_, model), member in members.items():
        counts[(model,)] = add([counts.get((model,), 0.0), member])
    return [
        Family("floor_pool_member", Kind.GAUGE, "Whether this box's proxy may use the copy now.", members),
        Family("floor_pool_members", Kind.GAUGE, "Copies that this box's proxy may use now.", counts),
        Family("floor_pool_age_seconds", Kind.GAUGE, "Time since the pool reported.", {(): max(0.0, now - at)}),
    ]


STATE = paths.POOL_STATE
