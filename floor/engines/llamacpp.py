"""The command line of llama.cpp's server, behind whatever runs it: `--model FILE --flags…`.

Its flags: tools/server/README.md of ggml-org/llama.cpp.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from floor.engines import vllm
from floor.engines.serve import EMBED, Serve

# --metrics: off by default, and without it nobody knows how busy it is. --jinja: without the template of the model a
# request with tools is refused; the default since 2025 only. All layers on the card: the default fits what it can and
# leaves the rest to the processor without a word; a build without a card does not mind.
DEFAULTS: Mapping[str, Any] = {"metrics": True, "jinja": True, "n-gpu-layers": 999}
CACHE_TYPES = ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1")


def arguments(serve: Serve) -> list[str]:
    """Given a server, return the words behind the program. The same server always gives the same words.

    Its context is one for all slots, and each gets an equal part of it: --ctx-size is `context` times `max_requests`.
    Raises ValueError, naming the flag, for a value that has no form on a command line.
    """
    cache = None if serve.kv_cache == "auto" else serve.kv_cache
    own: dict[str, Any] = {
        "model": serve.source,
        "alias": serve.name,
        "host": serve.host,
        "port": serve.port,
        "ctx-size": None if serve.context is None else serve.context * (serve.max_requests or 1),
        "parallel": serve.max_requests,
        "cache-type-k": cache,
        "cache-type-v": cache,
    }
    words: list[str] = []
    for name, value in own.items():
        words += [] if value is None else flag(name, value)
    more: dict[str, Any] = {**DEFAULTS}
    if serve.task == EMBED:
        # A text to embed is read in one piece, so the piece must be as long as the longest text.
        batch = {} if serve.context is None else {"batch-size": serve.context, "ubatch-size": serve.context}
        more = {**more, "embeddings": True, **batch}
    # Sorted: the order of the lines in a file must not restart an engine.
    for name, value in sorted({**more, **serve.args}.items()):
        words += flag(name, value)
    return words


def flag(name: str, value: Any) -> list[str]:
    """Given a flag without dashes and its value as floor.yaml holds it, return its words. Raises ValueError.

    A list is one word, its values behind each other with commas, as all of llama.cpp's lists are.
    """
    if isinstance(value, list | tuple):
        if not value:
            raise ValueError(f"--{name}: a list needs values, found {value!r}")
        return [f"--{name}", ",".join(vllm.plain(name, item) for item in value)]
    if isinstance(value, bool):
        return vllm.flag(name, value)
    # Two words whatever the value begins with: its parser knows no `--flag=value`.
    return [f"--{name}", vllm.plain(name, value)]


def environment(folder: str) -> dict[str, str]:
    """Given a folder that outlives restarts, return what the server finds in its environment, secrets aside."""
    return {
        "LLAMA_ARG_OFFLINE": "1",
        "LLAMA_CACHE": folder,
        "XDG_CACHE_HOME": folder,
        "CUDA_CACHE_PATH": f"{folder}/cuda",
    }
