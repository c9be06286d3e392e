"""One engine that runs as one copy of floor.yaml: common options out of its command line, the rest as args and env."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from floor.config import flags as own
from floor.config.adopt import words
from floor.config.adopt.found import Found
from floor.config.adopt.runtime import runtime
from floor.config.init import name as plain_name
from floor.config.models import CacheType
from floor.engines.vllm import DEFAULTS

__all__ = ["CacheType", "Option", "adopt"]

_VLLM_SHORT = {
    "tp": "tensor-parallel-size",
    "pp": "pipeline-parallel-size",
    "dp": "data-parallel-size",
    "q": "quantization",
}
_LLAMA_SHORT = {
    "m": "model", "c": "ctx-size", "np": "parallel", "a": "alias", "ngl": "n-gpu-layers", "fa": "flash-attn",
    "ctk": "cache-type-k", "ctv": "cache-type-v", "b": "batch-size", "ub": "ubatch-size", "t": "threads",
    "sm": "split-mode", "ts": "tensor-split", "mg": "main-gpu", "cb": "cont-batching", "fit": "fit",
}  # fmt: skip
# what containers of llama.cpp are given in place of flags; a flag counts before them (common/arg.cpp)
_LLAMA_ENV = {
    f"LLAMA_ARG_{flag.replace('-', '_').upper()}": flag
    for flag in ("model", "alias", "ctx-size", "cache-type-k", "cache-type-v", "n-gpu-layers", "port")
} | {"LLAMA_ARG_N_PARALLEL": "parallel"}
_LLAMA_SET = ("HOST", "OFFLINE", "ENDPOINT_METRICS", "JINJA")  # floor sets these itself
_PORTS = {"vllm": 8000, "llamacpp": 8080, "ollama": 11434}
_GONE = ("served-model-name", "host", "port", "api-key", "model", "model-tag", "shutdown-timeout", *DEFAULTS)


@dataclass
class Option:
    """A copy as floor.yaml could hold it. `lost` says what it cannot hold, `served` is the name that clients use
    now."""

    found: Found
    name: str
    served: str
    values: dict[str, Any] = field(default_factory=dict)
    args: dict[str, Any] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    runtime: dict[str, Any] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)


def adopt(found: Found) -> Option:
    """Given an engine that was found, return the copy that would reproduce it, and what would be lost."""
    reader = {"vllm": _vllm, "llamacpp": _llamacpp, "ollama": _ollama}[found.engine]
    option = reader(found)
    option.runtime, lost = runtime(found, str(option.values.get("source", "")))
    option.lost += lost
    option.env |= dict(_environment(found, option.lost))
    for secret in found.hidden:
        option.lost.append(f"{secret} is a secret and was left out; floor makes the key of its engines itself")
    if option.name != option.served:
        option.lost.append(f"it is served as {option.served}, here as {option.name}: clients must ask for that name")
    return option


def _vllm(found: Found) -> Option:
    flags, loose = words.flags(found.words, _VLLM_SHORT)
    source = (flags.get("model") or flags.get("model-tag") or loose or [""])[0]
    served = flags.get("served-model-name") or [source]
    option = _option(found, source, served[0])
    option.lost += [f"it is also served as {other}; a model has one name here" for other in served[1:]]
    values = option.values
    values["port"] = _port(found, flags)
    if (context := words.number(_last(flags, "max-model-len"))) is not None:
        values["context"] = context
    values["max_requests"] = words.number(_last(flags, "max-num-seqs"))
    if cache := _last(flags, "kv-cache-dtype"):
        values["kv_cache"] = cache
    if share := _last(flags, "gpu-memory-utilization"):
        values["utilization"] = words.scalar(share)
    if size := words.number(_last(flags, "kv-cache-memory-bytes")):
        values["cache_memory"] = size
    taken = {
        "max-model-len",
        "max-num-seqs",
        "kv-cache-dtype",
        "gpu-memory-utilization",
        "kv-cache-memory-bytes",
        *_GONE,
    }
    if (flags.get("task") or flags.get("runner") or [""])[-1] in ("embed", "embedding", "pooling"):
        option.values["task"] = "embed"
        taken |= {"task", "runner"}
    _rest(option, {name: given for name, given in flags.items() if name not in taken})
    return option


def _llamacpp(found: Found) -> Option:
    flags, _ = words.flags(found.words, _LLAMA_SHORT)
    flags = {flag: [found.env[name]] for name, flag in _LLAMA_ENV.items() if name in found.env} | flags
    source = _last(flags, "model")
    option = _option(found, source, _last(flags, "alias") or PurePosixPath(source).stem)
    slots = words.number(_last(flags, "parallel"))
    context = words.number(_last(flags, "ctx-size"))
    option.values |= {"port": _port(found, flags), "max_requests": slots}
    if context:  # llama-server shares its context between its slots
        option.values["context"] = context // (slots or 1)
    if cache := _last(flags, "cache-type-k"):
        option.values["kv_cache"] = cache
        if _last(flags, "cache-type-v") not in ("", cache):
            option.lost.append(f"--cache-type-v {_last(flags, 'cache-type-v')}: kv_cache sets both types")
    if "embedding" in flags or "embeddings" in flags:
        option.values["task"] = "embed"
    taken = {"embedding", "embeddings", "model", "alias", "parallel", "ctx-size", "cache-type-k", "cache-type-v"}
    taken |= {"port", "host", "api-key", "metrics", "jinja"}
    _rest(option, {name: given for name, given in flags.items() if name not in taken})
    return option


def _ollama(found: Found) -> Option:
    option = _option(found, str(found.env.get("OLLAMA_MODELS", "")), "ollama")
    address = found.env.get("OLLAMA_HOST", "")
    port = re.search(r":([0-9]+)/?$", address)
    option.values["port"] = int(port[1]) if port else _PORTS["ollama"]
    if slots := words.number(found.env.get("OLLAMA_NUM_PARALLEL", "")):
        option.values["max_requests"] = slots
    if context := words.number(found.env.get("OLLAMA_CONTEXT_LENGTH", "")):
        option.values["context"] = context
    if cache := found.env.get("OLLAMA_KV_CACHE_TYPE"):
        option.values["kv_cache"] = cache
    option.lost.append("the name of an Ollama model is its tag: write each model that it serves by its own name")
    return option


def _option(found: Found, source: str, served: str) -> Option:
    option = Option(found, plain_name(served.rsplit("/", 1)[-1], "model"), served)
    option.values["engine"] = found.engine
    place = found.snapshots.get(source) or outside(source, found)
    if place.startswith("/"):
        option.values["source"] = place
    else:
        option.lost.append(
            f"its weights are named {source or 'nowhere'}: write the folder on the box that holds them as `source`"
        )
    return option


def outside(path: str, found: Found) -> str:
    """Given a path as an engine sees it, return where it lies on the box: a container may have mounted it elsewhere."""
    mounts = sorted((found.container or {}).get("mounts", ()), key=lambda mount: len(mount["to"]), reverse=True)
    for mount in mounts:
        inside = mount["to"].rstrip("/")
        if path == inside or path.startswith(f"{inside}/"):
            return str(mount["from"]).rstrip("/") + path[len(inside) :]
    return path


def _port(found: Found, flags: Mapping[str, Sequence[str]]) -> int:
    inside = words.number(_last(flags, "port")) or _PORTS[found.engine]
    boxed = found.container
    if boxed and boxed["network"] != "host":
        return int(boxed["ports"].get(str(inside), inside))
    return inside


def _rest(option: Option, flags: Mapping[str, list[str]]) -> None:
    secret = {flag.lstrip("-").replace("_", "-") for flag in option.found.hidden}
    for name, given in flags.items():
        flag = name.removeprefix("no-")
        if name in secret:
            continue  # told as such
        if len(name) < 3:
            option.lost.append(f"-{' '.join([name, *given])}: write its long name into args")
        elif instead := own.taken(name, option.found.engine):
            option.lost.append(f"--{' '.join([name, *given])} cannot be given here: {instead}")
        elif not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9-]*(\.[A-Za-z0-9_-]+)*\+?", name):
            option.lost.append(f"--{' '.join([name, *given])}: is no flag that args could hold")
        elif not given and name != flag:
            option.args[flag] = False
        else:
            option.args[name] = words.value(given)


def _environment(found: Found, lost: list[str]) -> Iterator[tuple[str, str]]:
    for name, value in found.env.items():
        word = name.removeprefix("LLAMA_ARG_")
        if found.engine == "llamacpp" and word != name and name not in _LLAMA_ENV and word not in _LLAMA_SET:
            lost.append(f"{name}={value}: write it as the flag into args")
        elif own.variable(name, found.engine):
            continue  # floor sets it itself, or an option of its own was taken from it
        elif name.startswith("FLOOR_"):
            lost.append(f"{name}: variables with FLOOR_ are floor's own; write it as a flag")
        elif re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
            yield name, value


def _last(flags: Mapping[str, Sequence[str]], name: str) -> str:
    given = flags.get(name) or [""]
    return given[-1]
