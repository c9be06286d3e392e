"""vLLM's command line, behind whatever runs it: `serve FOLDER --flags…`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# Not asked of the config: probes come twice a second and would fill the journal (vllm#29023); nginx logs requests.
DEFAULTS: Mapping[str, Any] = {"disable-uvicorn-access-log": True}


@dataclass(frozen=True)
class Serve:
    """One server. `host` is an IP literal without brackets or a name, `cache_memory` bytes, `drain` seconds.

    None leaves the choice to vLLM; a `drain` of None is for releases without --shutdown-timeout. `args` are further
    flags without dashes: True for the bare flag, False for its --no- form, a mapping becomes JSON, a list several
    words.
    """

    source: str
    name: str
    host: str
    port: int
    context: int | None = None
    max_requests: int | None = None
    kv_cache: str = "auto"
    utilization: float | None = None
    cache_memory: int | None = None
    drain: float | None = None
    args: Mapping[str, Any] = field(default_factory=dict)


def arguments(serve: Serve) -> list[str]:
    """Given a server, return the words behind the program. The same server always gives the same words.

    Raises ValueError, naming the flag, for a value that has no form on a command line.
    """
    own: dict[str, Any] = {
        "served-model-name": serve.name,
        "host": serve.host,
        "port": serve.port,
        "max-model-len": serve.context,
        "max-num-seqs": serve.max_requests,
        "kv-cache-dtype": None if serve.kv_cache == "auto" else serve.kv_cache,
        "gpu-memory-utilization": serve.utilization,
        "kv-cache-memory-bytes": serve.cache_memory,
        "shutdown-timeout": None if serve.drain is None else math.ceil(serve.drain),
    }
    words = ["serve", serve.source]
    for name, value in own.items():
        words += [] if value is None else flag(name, value)
    # Sorted: the order of the lines in a file must not restart an engine.
    for name, value in sorted({**DEFAULTS, **serve.args}.items()):
        words += flag(name, value)
    return words


def flag(name: str, value: Any) -> list[str]:
    """Given a flag without dashes and its value as floor.yaml holds it, return its words. Raises ValueError."""
    if value is True:
        return [f"--{name}"]
    if value is False:
        # argparse's BooleanOptionalAction, which all of vLLM's switches are
        return [f"--no-{name}"]
    if isinstance(value, list | tuple):
        words = [_word(name, item) for item in value]
        if not words or any(word.startswith("-") for word in words):
            raise ValueError(f"--{name}: a list needs values, and none that begins with a dash, found {value!r}")
        return [f"--{name}", *words]
    word = _word(name, value)
    # A value that begins with a dash would be read as the next flag.
    return [f"--{name}={word}"] if word.startswith("-") else [f"--{name}", word]


def _word(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping | list | tuple):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return str(value)
    raise ValueError(f"--{name}: found {value!r}; write a text, a number, true, false, a list or a mapping")
