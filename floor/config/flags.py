"""Flags and variables of engines that floor sets itself, and which of its own keys each of them follows.

Unless said otherwise they are vLLM's.
"""

from __future__ import annotations

# flag -> key of a model in floor.yaml
OWN = {
    "model": "source",
    "model-tag": "source",
    "max-model-len": "context",
    "max-num-seqs": "max_requests",
    "kv-cache-dtype": "kv_cache",
    "gpu-memory-utilization": "utilization",
    "kv-cache-memory-bytes": "cache_memory",
    "port": "port",
    "shutdown-timeout": "request_time",
    "pipeline-parallel-layer-partition": "split.pipeline",
    "master-port": "split.master_port",
}
# flag -> why nobody else may set it
TAKEN = {
    "host": "the engine listens on its box's host",
    "uds": "the engine listens on its box's host",
    "served-model-name": "the model's key under `models` is its served name",
    "api-key": "floor makes the engines' key on the first proxy box",
    "ssl-keyfile": "the proxy speaks plain HTTP to the engines",
    "ssl-certfile": "the proxy speaks plain HTTP to the engines",
    "ssl-ca-certs": "the proxy speaks plain HTTP to the engines",
    "ssl-cert-reqs": "the proxy speaks plain HTTP to the engines",
    "root-path": "the proxy passes paths on as they are",
    "config": "its flags belong into args, where they can be seen",
    "headless": "it follows from split",
    "nnodes": "it follows from split",
    "node-rank": "it follows from split",
    "master-addr": "it follows from split",
}
# variable -> why nobody else may set it
VARIABLES = {
    "VLLM_API_KEY": "floor makes the engines' key on the first proxy box",
    "HF_HUB_OFFLINE": "floor sets it, nothing is fetched while serving",
    "TRANSFORMERS_OFFLINE": "floor sets it, nothing is fetched while serving",
    "VLLM_PORT": "it is not the port of the API; that is port",
}


LLAMACPP_OWN = {
    "model": "source",
    "ctx-size": "context",
    "parallel": "max_requests",
    "cache-type-k": "kv_cache",
    "cache-type-v": "kv_cache",
    "port": "port",
    "embedding": "task",
    "embeddings": "task",
}
_FETCHES = "nothing is fetched while serving; source is a file of the box"
_ONE = "a copy serves one model"
LLAMACPP_TAKEN = {
    "host": "the engine listens on its box's host",
    "alias": "the model's key under `models` is its served name",
    "metrics": "floor reads them",
    "api-key": "floor makes the engines' key on the first proxy box",
    "api-key-file": "floor makes the engines' key on the first proxy box",
    "ssl-key-file": "the proxy speaks plain HTTP to the engines",
    "ssl-cert-file": "the proxy speaks plain HTTP to the engines",
    "api-prefix": "the proxy passes paths on as they are",
    "sleep-idle-seconds": "the model stays in memory",
    **dict.fromkeys(("model-url", "hf-repo", "hf-file", "hf-token", "docker-repo"), _FETCHES),
    **dict.fromkeys(("models-dir", "models-preset", "models-max", "models-autoload"), _ONE),
    "rpc": "its makers call it fragile, insecure and nothing for an open network",
}
OLLAMA_OWN = {
    "OLLAMA_MODELS": "source",
    "OLLAMA_CONTEXT_LENGTH": "context",
    "OLLAMA_NUM_PARALLEL": "max_requests",
    "OLLAMA_KV_CACHE_TYPE": "kv_cache",
    "OLLAMA_LOAD_TIMEOUT": "start_time",
}
OLLAMA_TAKEN = {
    "OLLAMA_HOST": "the engine listens on its box's host",
    "OLLAMA_KEEP_ALIVE": "the model stays in memory",
    "OLLAMA_MAX_LOADED_MODELS": _ONE,
    "OLLAMA_NOPRUNE": "floor sets it, nothing of source is removed",
    "OLLAMA_NO_CLOUD": "floor sets it, nothing is answered elsewhere",
    "OLLAMA_ORIGINS": "the proxy takes the header Origin away",
    "HOME": "floor sets it to the folder that stays",
}


def variable(name: str, engine: str = "vllm") -> str | None:
    """Given a variable and the engine that is to have it, return what to write instead, or None where it is free."""
    if engine == "ollama":
        if key := OLLAMA_OWN.get(name):
            return f"the key {key} of the model instead"
        why = OLLAMA_TAKEN.get(name)
    elif engine == "llamacpp":
        if name.startswith("LLAMA_ARG_"):
            return "the flag in args instead"
        why = VARIABLES["VLLM_API_KEY"] if name == "LLAMA_API_KEY" else None
    else:
        why = VARIABLES.get(name)
    return f"nothing here ({why})" if why else None


def taken(flag: str, engine: str = "vllm") -> str | None:
    """Given a flag without dashes and its engine, return what to write instead of it, or None where it is free.

    vLLM's parser accepts `_` for `-`, the --no- form, dotted keys and any unambiguous beginning of a flag; llama.cpp's
    accepts `_` for `-`, and whole names alone. Ollama has no flags.
    """
    if engine == "ollama":
        return "env instead: Ollama takes no flags, only variables"
    if engine == "llamacpp":
        return _llamacpp(flag.lower().replace("_", "-").removeprefix("no-"))
    head = flag.split(".", maxsplit=1)[0].rstrip("+").lower().replace("_", "-").removeprefix("no-")
    if len(head) < 3:
        return "the long name of the flag"
    for name, key in OWN.items():
        if name.startswith(head):
            return f"the key {key} of the model or copy instead"
    for name, why in TAKEN.items():
        if name.startswith(head):
            return f"nothing here ({why})"
    return None


def _llamacpp(name: str) -> str | None:
    if len(name) < 3:
        return "the long name of the flag"
    if key := LLAMACPP_OWN.get(name):
        return f"the key {key} of the model or copy instead"
    return f"nothing here ({why})" if (why := LLAMACPP_TAKEN.get(name)) else None
