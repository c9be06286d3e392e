"""The command lines of llama.cpp's server and of Ollama, which has variables in the place of flags."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from floor.errors import UsageError
from floor.sim.flagwords import Flags, last, whole
from floor.sim.settings import EMBED, GENERATE, Settings, Simulation

Reader = Callable[[Flags, Mapping[str, str], Simulation], Settings]
LIBRARY = "manifests/registry.ollama.ai/library"
SLOTS = 4  # what llama.cpp makes where nothing is said
CONTEXT = 4096


def llamacpp(flags: Flags, env: Mapping[str, str], simulation: Simulation) -> Settings:
    """Settings from llama-server's flags: its context is one for all slots. Raises UsageError."""
    model = last(flags, "model")
    if model is None:
        raise UsageError("no model: write --model FILE, as for llama-server; any name will do")
    names = tuple((last(flags, "alias") or Path(model).name).split(","))
    slots = whole(flags, "parallel", SLOTS)
    key = last(flags, "api-key") or env.get("LLAMA_API_KEY")
    return Settings(
        model=model,
        host=last(flags, "host") or "127.0.0.1",
        port=whole(flags, "port", 8080),
        served_names=names,
        max_model_len=max(1, whole(flags, "ctx-size", CONTEXT * slots) // slots),
        max_num_seqs=slots,
        api_keys=tuple(key.split(",")) if key else (),
        allowed_origins=("*",),
        kv_cache_dtype=last(flags, "cache-type-k") or "f16",
        auto_tools="no-jinja" not in flags,
        access_log=False,
        metrics="metrics" in flags,
        task=EMBED if {"embedding", "embeddings"} & set(flags) else GENERATE,
        simulation=simulation,
    )


def ollama(flags: Flags, env: Mapping[str, str], simulation: Simulation) -> Settings:
    """Settings from Ollama's variables. It serves what lies in OLLAMA_MODELS; --served-model-name adds names to that,
    which no real one takes. Raises UsageError."""
    parts = urlsplit(f"//{env.get('OLLAMA_HOST') or '127.0.0.1:11434'}")
    try:
        port = parts.port or 11434
    except ValueError:
        raise UsageError(f"OLLAMA_HOST: found {env['OLLAMA_HOST']!r}; write HOST:PORT") from None
    folder = env.get("OLLAMA_MODELS") or str(Path(env.get("HOME", "/")) / ".ollama/models")
    names = (*flags.get("served-model-name", ()), *_stored(Path(folder)))
    if not names:
        raise UsageError(f"OLLAMA_MODELS: {folder} holds no model; put a file at {LIBRARY}/NAME/latest there")
    return Settings(
        model=folder,
        host=last(flags, "host") or parts.hostname or "127.0.0.1",
        port=whole(flags, "port", port),
        served_names=names,
        max_model_len=_number(env, "OLLAMA_CONTEXT_LENGTH", CONTEXT),
        max_num_seqs=_number(env, "OLLAMA_NUM_PARALLEL", 1),
        kv_cache_dtype=env.get("OLLAMA_KV_CACHE_TYPE", "f16"),
        auto_tools=True,
        access_log=False,
        task=EMBED if last(flags, "task") == "embed" else GENERATE,
        simulation=simulation,
    )


def _stored(folder: Path) -> list[str]:
    return sorted(path.parent.name for path in (folder / LIBRARY).glob("*/latest"))


def _number(env: Mapping[str, str], name: str, default: int) -> int:
    text = env.get(name) or str(default)
    if not text.isdecimal() or int(text) < 1:
        raise UsageError(f"{name}: found {text!r}; write a whole number, 1 or more")
    return int(text)


READERS: Mapping[str, Reader] = {"llamacpp": llamacpp, "ollama": ollama}
