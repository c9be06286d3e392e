"""What a layout needs to know of this box: its memory, its cards, and the headers of weights. It changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from floor.agent.call import Call
from floor.box import calibrations, facts, headers, memory, paths, starts
from floor.box.observe import document
from floor.errors import FloorError


def look(call: Call) -> dict[str, Any]:
    """{sources} → {memory: {total, available}, gpus, sources: {source: {config, tensors, gguf} or {error}},
    starts: {backend: seconds of its last start}, others: bytes that others take by the guard's readings or null,
    logged: {unit: {launch, utilization, start: what its log told}}, calibrated: {backend: all that `floor
    calibrate` has found, the oldest first}}.
    """
    seen = memory.read(call.root)
    sources: dict[str, Any] = {}
    for source in call.params.texts("sources"):
        try:
            sources[source] = headers.read(paths.under(call.root, Path(source)))
        except FloorError as error:
            sources[source] = {"error": str(error)}
    begun = {name: kinds["starts"][-1] for name, kinds in starts.read(call.root).items() if kinds["starts"]}
    watched = document(paths.GUARD_STATE, call.root) or {}
    return {
        "others": (watched.get("others") or {}).get("p95"),
        "calibrated": calibrations.read(call.root),
        "logged": watched.get("starts") or {},
        "starts": {name: one["seconds"] + one["warm"] for name, one in begun.items()},
        "memory": {"total": seen.total, "available": seen.available},
        "gpus": facts.gpus(call.run),
        "sources": sources,
    }
