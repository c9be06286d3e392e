"""What a layout needs to know of this box: its memory, its cards, and the headers of weights. It changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from floor.agent.call import Call
from floor.box import facts, headers, memory, paths
from floor.errors import FloorError


def look(call: Call) -> dict[str, Any]:
    """{sources} → {memory: {total, available}, gpus, sources: {source: {config, tensors, gguf} or {error}}}."""
    seen = memory.read(call.root)
    sources: dict[str, Any] = {}
    for source in call.params.texts("sources"):
        try:
            sources[source] = headers.read(paths.under(call.root, Path(source)))
        except FloorError as error:
            sources[source] = {"error": str(error)}
    return {
        "memory": {"total": seen.total, "available": seen.available},
        "gpus": facts.gpus(call.run),
        "sources": sources,
    }
