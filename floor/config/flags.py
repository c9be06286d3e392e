"""Flags of vLLM that floor sets itself, and which of its own keys each of them follows."""

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
    "master-port": "it follows from split",
}
# variable -> why nobody else may set it
VARIABLES = {
    "VLLM_API_KEY": "floor makes the engines' key on the first proxy box",
    "HF_HUB_OFFLINE": "floor sets it, nothing is fetched while serving",
    "TRANSFORMERS_OFFLINE": "floor sets it, nothing is fetched while serving",
    "VLLM_PORT": "it is not the port of the API; that is port",
}


def taken(flag: str) -> str | None:
    """Given a flag without dashes, return what to write instead of it, or None where it is free.

    vLLM's parser accepts `_` for `-`, the --no- form, dotted keys and any unambiguous beginning of a flag.
    """
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
