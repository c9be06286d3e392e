"""Ollama: `serve`, and everything else in its environment. From its documentation and source; none was run here.

Names: envconfig/config.go of ollama/ollama. It serves what lies in a folder under its own names; floor uses the name
of the model in floor.yaml, tag `latest`. It asks nobody for a key.
"""

from __future__ import annotations

import math

from floor.engines.serve import Serve

CACHE_TYPES = ("f16", "q8_0", "q4_0")


def arguments(serve: Serve) -> list[str]:
    """Given a server, return the words behind the program. Raises ValueError for flags: it has none."""
    if serve.args:
        raise ValueError(f"--{min(serve.args)}: Ollama takes no flags, only variables (env)")
    return ["serve"]


def environment(serve: Serve, folder: str) -> dict[str, str]:
    """Given a server and a folder that outlives restarts, return what Ollama finds in its environment."""
    host = f"[{serve.host}]" if ":" in serve.host else serve.host
    found = {
        "HOME": folder,  # its identity lies in .ollama there; it does not start where it cannot write one
        "OLLAMA_HOST": f"{host}:{serve.port}",
        "OLLAMA_MODELS": serve.source,
        # Default: 5m, after which the next request waits for a load.
        "OLLAMA_KEEP_ALIVE": "-1",
        # Default: three for each card. Another model would take the memory of this one.
        "OLLAMA_MAX_LOADED_MODELS": "1",
        # Default: a start removes what no model of the folder needs: half of a model that is being brought, too.
        "OLLAMA_NOPRUNE": "1",
        # Default: names that end in -cloud are answered by somebody else's machines.
        "OLLAMA_NO_CLOUD": "1",
        "CUDA_CACHE_PATH": f"{folder}/cuda",
    }
    if serve.start is not None:
        found["OLLAMA_LOAD_TIMEOUT"] = f"{math.ceil(serve.start)}s"  # default: 5m
    if serve.context is not None:
        found["OLLAMA_CONTEXT_LENGTH"] = str(serve.context)  # of one request; it multiplies by the parallel ones itself
    if serve.max_requests is not None:
        found["OLLAMA_NUM_PARALLEL"] = str(serve.max_requests)
    if serve.kv_cache != "auto":
        found |= {"OLLAMA_KV_CACHE_TYPE": serve.kv_cache, "OLLAMA_FLASH_ATTENTION": "1"}  # the one needs the other
    return found


def manifest(folder: str, name: str) -> str:
    """Given the folder of its models and a served name, return the file that says what the model is made of."""
    return f"{folder.rstrip('/')}/manifests/registry.ollama.ai/library/{name}/latest"
