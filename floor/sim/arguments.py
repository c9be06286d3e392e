"""The command line of an engine, read as far as a simulation needs it; every other flag is tolerated."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from floor.errors import UsageError
from floor.sim import other_arguments, simflags
from floor.sim.flagwords import Flags, last
from floor.sim.settings import EMBED, GENERATE, Settings

# A flag of vLLM takes every word up to the next flag, as argparse's `+` and `*` do. These words begin the flags that
# take none, so that a model may follow them; and these of them take one all the same.
_SWITCHES = re.compile(
    r"(no|enable|disable|enforce|trust|skip|headless|async|return|log|calculate|allow|use|sim-admin)(-|$)"
)
_VALUED = re.compile(r"log-(level|config)|disable-access-log-for")
_FLAG = re.compile(r"--[A-Za-z]|-[A-Za-z]")


def parse(argv: Sequence[str], env: Mapping[str, str]) -> Settings:
    """Settings from a command line without a program name, and an environment.

    Raises UsageError, which names the flag or variable, what was found, and what to write.
    """
    flags, loose = split(argv)
    simulation = simflags.read({name: flags[name] for name in flags if name.startswith("sim-")}, env)
    if simulation.dialect != "vllm":
        return other_arguments.READERS[simulation.dialect](flags, env, simulation)
    model = last(flags, "model") or (loose[0] if loose else None)
    if model is None:
        raise UsageError("no model: write `serve MODEL`, as for vLLM; any name will do")
    key = env.get("VLLM_API_KEY")
    settings = Settings(
        model=model,
        host=last(flags, "host") or "",
        served_names=tuple(flags.get("served-model-name", ())) or (model,),
        api_keys=tuple(flags.get("api-key", ())) or ((key,) if key else ()),
        allowed_origins=_origins(last(flags, "allowed-origins")),
        kv_cache_dtype=last(flags, "kv-cache-dtype") or "auto",
        auto_tools="enable-auto-tool-choice" in flags,
        track_load="enable-server-load-tracking" in flags,
        headless="headless" in flags,
        master_addr=last(flags, "master-addr") or "127.0.0.1",
        access_log="disable-uvicorn-access-log" not in flags,
        task=EMBED if last(flags, "runner") == "pooling" or last(flags, "task") == "embed" else GENERATE,
        simulation=simulation,
    )
    settings = replace(settings, **_numbers(flags))  # type: ignore[arg-type]  # each reader returns its field's type
    if settings.node_rank >= settings.nnodes:
        raise UsageError(
            f"--node-rank: found {settings.node_rank}; with --nnodes {settings.nnodes} write less than that"
        )
    return settings


def split(argv: Sequence[str]) -> tuple[Flags, list[str]]:
    """Flags by name (no leading dashes, no underscores), each with its values; and the words that belong to none."""
    flags: Flags = {}
    loose: list[str] = []
    current: list[str] | None = None
    for word in argv[1:] if argv and argv[0] == "serve" else argv:
        if not _FLAG.match(word):
            (loose if current is None else current).append(word)
            continue
        name, equals, value = word.lstrip("-").partition("=")
        name = name.replace("_", "-")
        values = flags.setdefault(name, [])
        if equals:
            values.append(value)
        takes_none = _SWITCHES.match(name) and not _VALUED.match(name)
        current = None if equals or takes_none else values
    return flags, loose


def _numbers(flags: Flags) -> dict[str, float]:
    found = {}
    for field, read in _NUMBERS.items():
        flag = field.replace("_", "-")
        text = last(flags, flag)
        if text is not None:
            try:
                found[field] = read(text)
            except ValueError as error:
                raise UsageError(f"--{flag}: found {text!r}; {error}") from None
    return found


def _origins(text: str | None) -> tuple[str, ...]:
    """vLLM's JSON list of origins that a browser may ask from; none unless it is given."""
    try:
        origins = json.loads(text or "[]")
    except ValueError:
        origins = None
    if not isinstance(origins, list) or not all(isinstance(origin, str) for origin in origins):
        raise UsageError(f'--allowed-origins: found {text!r}; write a JSON list, such as ["*"]')
    return tuple(origins)


def _context(text: object) -> int:
    """vLLM's own spellings: 32768, 32k (thousands), 32K (times 1024), the same with m/M and g/G, auto."""
    if text in ("auto", "-1"):
        return Settings.max_model_len
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kKmMgG]?)", str(text))
    factor = {"": 1, "k": 10**3, "K": 2**10, "m": 10**6, "M": 2**20, "g": 10**9, "G": 2**30}
    tokens = int(float(match[1]) * factor[match[2]]) if match else 0
    if tokens < 1:
        raise ValueError("write a number of tokens, such as 32768 or 32k")
    return tokens


_NUMBERS: dict[str, Callable[[object], float]] = {
    "port": simflags.port,
    "max_model_len": _context,
    "max_num_seqs": simflags.number("a whole number, 1 or more", 1, whole=True),
    "gpu_memory_utilization": simflags.number("a share of the memory, above 0", 1e-6),
    "block_size": simflags.number("a whole number of tokens, 1 or more", 1, whole=True),
    "nnodes": simflags.number("a whole number of boxes, 1 or more", 1, whole=True),
    "node_rank": simflags.number("the number of this box, from 0", 0, whole=True),
    "master_port": simflags.port,
    "shutdown_timeout": simflags.number("seconds, 0 or more", 0),
}
