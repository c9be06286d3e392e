"""vLLM's command line, behind whatever runs it: `serve FOLDER --flags…`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from floor.engines.serve import EMBED, Ranks, Serve

# Not asked of the config: probes come twice a second and would fill the journal (vllm#29023); nginx logs requests.
DEFAULTS: Mapping[str, Any] = {"disable-uvicorn-access-log": True}
# Since 0.10.1; older releases say --task embed (docs.vllm.ai, models/pooling_models).
_EMBEDS: Mapping[str, Any] = {"runner": "pooling"}


def arguments(serve: Serve) -> list[str]:
    """Given a server, return the words behind the program. The same server always gives the same words.

    Raises ValueError, naming the flag, for a value that has no form on a command line.
    """
    # A worker has no API: whoever it serves asks the head.
    answers = serve.ranks is None or serve.ranks.head
    own: dict[str, Any] = {
        "served-model-name": serve.name,
        "host": serve.host if answers else None,
        "port": serve.port if answers else None,
        "max-model-len": serve.context,
        "max-num-seqs": serve.max_requests,
        "kv-cache-dtype": None if serve.kv_cache == "auto" else serve.kv_cache,
        "gpu-memory-utilization": serve.utilization,
        "kv-cache-memory-bytes": serve.cache_memory,
        "shutdown-timeout": None if serve.drain is None else math.ceil(serve.drain),
    }
    words = ["serve", serve.source]
    for name, value in {**own, **_ranks(serve.ranks)}.items():
        words += [] if value is None else flag(name, value)
    # Sorted: the order of the lines in a file must not restart an engine.
    embeds = _EMBEDS if serve.task == EMBED and not {"task", "runner"} & set(serve.args) else {}
    for name, value in sorted({**DEFAULTS, **embeds, **serve.args}.items()):
        words += flag(name, value)
    return words


def _ranks(ranks: Ranks | None) -> dict[str, Any]:
    """The flags of one part of a group (docs.vllm.ai, serving/parallelism_scaling: several nodes without Ray)."""
    if ranks is None:
        return {}
    return {
        "tensor-parallel-size": ranks.tensor,
        "pipeline-parallel-size": ranks.stages,
        "nnodes": ranks.nodes,
        "node-rank": ranks.rank,
        "master-addr": ranks.address,
        "master-port": ranks.port,
        "headless": None if ranks.head else True,
    }


def flag(name: str, value: Any) -> list[str]:
    """Given a flag without dashes and its value as floor.yaml holds it, return its words. Raises ValueError."""
    if value is True:
        return [f"--{name}"]
    if value is False:
        # argparse's BooleanOptionalAction, which all of vLLM's switches are
        return [f"--no-{name}"]
    if isinstance(value, list | tuple):
        words = [plain(name, item) for item in value]
        if not words or any(word.startswith("-") for word in words):
            raise ValueError(f"--{name}: a list needs values, and none that begins with a dash, found {value!r}")
        return [f"--{name}", *words]
    word = plain(name, value)
    # A value that begins with a dash would be read as the next flag.
    return [f"--{name}={word}"] if word.startswith("-") else [f"--{name}", word]


def plain(name: str, value: Any) -> str:
    """Given a flag and a value for it, return the value as one word; a mapping as JSON. Raises ValueError."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping | list | tuple):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return str(value)
    raise ValueError(f"--{name}: found {value!r}; write a text, a number, true, false, a list or a mapping")
