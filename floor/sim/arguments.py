"""vLLM's command line, read as far as a simulation needs it; every other vLLM flag is tolerated."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path

from floor.errors import UsageError
from floor.sim import faults
from floor.sim.curve import PRESETS, parse_curve
from floor.sim.settings import Settings, Simulation

HELP = """\
usage: floor sim [serve] MODEL [vLLM flags] [--sim-… flags]

A simulated vLLM: its endpoints, metrics, scheduling and failures, without a GPU. vLLM's flags are
accepted; those that matter here are --host --port --served-model-name --max-model-len --max-num-seqs
--api-key (or VLLM_API_KEY) --block-size --gpu-memory-utilization --enable-auto-tool-choice --headless
--shutdown-timeout --disable-uvicorn-access-log.

Each --sim-NAME is also FLOOR_SIM_NAME in the environment (dashes become underscores) or NAME in the
JSON file that FLOOR_SIM_CONFIG names; a flag wins over the environment, that over the file.

  --sim-load-time S        seconds until it serves (0); the port refuses until then
  --sim-load-mode MODE     refuse, or 503: the port answers 503 while loading, as llama.cpp does
  --sim-preset NAME        throughput by requests at once: short or long prompts (short)
  --sim-curve N:R,N:R      a curve of your own: requests at once, total tok/s
  --sim-speed-factor F     everything is F times as fast (1)
  --sim-prefill-rate R     prompt tokens a second (4000)
  --sim-kv-tokens N        cache size in tokens (262144, or the context if that is more)
  --sim-kv-gib G, --sim-model-gib G     what the start log says (24, 71)
  --sim-answer-tokens A-B  length of an answer that ends by itself (40-160)
  --sim-reasoning-tokens N the first N tokens are reasoning, not content (0)
  --sim-seed N             the same request gets the same answer from every engine with this seed (0)
  --sim-fault FAULT        KIND or KIND:name=value,…; may be given again; see below
  --sim-control-port P     /sim/state and /sim/faults on a port of their own, open from the start
  --sim-control-host H     where that port listens (127.0.0.1)
  --sim-control-token T    with it in X-Sim-Token, other machines may use /sim/… on the engine's port
  --sim-device-lock PATH   the device: an engine that cannot lock this file fails as on a full GPU
  --sim-admin-routes       serve vLLM's development routes (/pause, /sleep, …) too

Faults (all also take for=SECONDS and times=REQUESTS):
"""


def help_text() -> str:
    """What `--help` prints: flags, then each fault with its settings and their defaults."""
    lines = []
    for kind, options in faults.KINDS.items():
        settings = ", ".join(f"{name}={value}" for name, value in options.items())
        lines.append(f"  {kind:<14} {settings}".rstrip())
    return HELP + "\n".join(lines) + "\n"


def parse(argv: Sequence[str], env: Mapping[str, str]) -> Settings:
    """Settings from a command line without a program name, and an environment.

    Raises UsageError, which names the flag or variable, what was found, and what to write.
    """
    flags, positional = _split(list(argv))
    model = _last(flags, "model") or (positional[0] if positional else None)
    if model is None:
        raise UsageError("no model: write `serve MODEL`, as for vLLM; any name will do")
    names = flags.get("served-model-name", [])
    keys = flags.get("api-key") or [key for key in [env.get("VLLM_API_KEY")] if key]
    settings = Settings(
        model=model,
        host=_last(flags, "host") or "",
        served_names=tuple(names) or (model,),
        api_keys=tuple(keys),
        kv_cache_dtype=_last(flags, "kv-cache-dtype") or "auto",
        auto_tools="enable-auto-tool-choice" in flags,
        track_load="enable-server-load-tracking" in flags,
        headless="headless" in flags,
        access_log="disable-uvicorn-access-log" not in flags,
        simulation=_simulation(flags, env),
    )
    numbers = {
        field: read(f"--{field.replace('_', '-')}", text)
        for field, read in _NUMBERS.items()
        if (text := _last(flags, field.replace("_", "-"))) is not None
    }
    return replace(settings, **numbers)  # type: ignore[arg-type]  # each reader returns its field's type


# A flag of vLLM takes every word up to the next flag, as argparse's `+` and `*` do. These words begin the flags
# that take none, so that a model may follow them.
_SWITCHES = re.compile(r"(no|enable|disable|enforce|trust|skip|headless|async|return|log|calculate|allow|use)(-|$)")
_VALUED = re.compile(r"(log-(level|config)|disable-hybrid|use-tqdm|allowed-)")


def _split(words: list[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Flags with their values, dashes and underscores made one, and the words that belong to no flag."""
    if words[:1] == ["serve"]:
        words = words[1:]
    flags: dict[str, list[str]] = {}
    loose: list[str] = []
    current: list[str] | None = None
    for word in words:
        if _is_flag(word):
            name, equals, value = word.lstrip("-").partition("=")
            name = name.replace("_", "-") if word.startswith("--") else name
            current = flags.setdefault(name, []) if not equals else None
            if equals:
                flags.setdefault(name, []).append(value)
            elif (_SWITCHES.match(name) and not _VALUED.match(name)) or name == "sim-admin-routes":
                current = None
        elif current is None:
            loose.append(word)
        else:
            current.append(word)
    return flags, loose


def _is_flag(word: str) -> bool:
    return bool(re.match(r"--[A-Za-z]|-[A-Za-z]", word))


def _last(flags: Mapping[str, list[str]], name: str) -> str | None:
    values = flags.get(name)
    if values is None:
        return None
    if not values:
        raise UsageError(f"--{name}: nothing follows it; write --{name} VALUE")
    return values[-1]


def _simulation(flags: Mapping[str, list[str]], env: Mapping[str, str]) -> Simulation:
    known = {field.name for field in fields(Simulation)}
    found: dict[str, object] = {}
    for where, name, value in _sources(flags, env):
        if name not in known:
            names = ", ".join(sorted(n.replace("_", "-") for n in known))
            raise UsageError(f"{where}: no such simulation setting; there are {names}")
        try:
            found[name] = _READERS[name](value)
        except ValueError as error:
            raise UsageError(f"{where}: found {value!r}; {error}") from None
        except UsageError as error:
            raise UsageError(f"{where}: {error}") from None
    return Simulation(**found)  # type: ignore[arg-type]  # each reader returns its field's type


def _sources(flags: Mapping[str, list[str]], env: Mapping[str, str]) -> Iterator[tuple[str, str, object]]:
    """(where it was written, field, value), weakest first: file, environment, flags."""
    if path := env.get("FLOOR_SIM_CONFIG"):
        for name, value in _read_file(Path(path)).items():
            yield f"{path}: {name}", name.replace("-", "_"), value
    for variable, value in env.items():
        if variable.startswith("FLOOR_SIM_") and variable != "FLOOR_SIM_CONFIG":
            yield variable, variable.removeprefix("FLOOR_SIM_").lower(), value
    for flag, values in flags.items():
        if flag.startswith("sim-"):
            name = flag.removeprefix("sim-").replace("-", "_")
            one = "true" if name == "admin_routes" and not values else None
            yield f"--{flag}", name, values if name == "fault" else one or _last(flags, flag)


def _read_file(path: Path) -> dict[str, object]:
    try:
        content = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise UsageError(f"FLOOR_SIM_CONFIG={path}: cannot be read as JSON: {error}") from None
    if not isinstance(content, dict):
        raise UsageError(f"FLOOR_SIM_CONFIG={path}: found {type(content).__name__}; write an object of settings")
    return content


def _number(what: str, least: float, whole: bool = False) -> Callable[[object], float]:
    def read(value: object) -> float:
        try:
            number = int(str(value)) if whole else float(str(value))
        except ValueError:
            raise ValueError(f"write {what}") from None
        if not least <= number < float("inf"):
            raise ValueError(f"write {what}")
        return number

    return read


def _word(*words: str) -> Callable[[object], str]:
    def read(value: object) -> str:
        if str(value) not in words:
            raise ValueError(f"write one of {', '.join(words)}")
        return str(value)

    return read


def _answer_tokens(value: object) -> tuple[int, int]:
    match = re.fullmatch(r"(\d+)(?:-(\d+))?", str(value))
    low, high = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 1 <= low <= high:
        raise ValueError("write FEWEST-MOST, such as 40-160")
    return low, high


def _faults(value: object) -> tuple[faults.Fault, ...]:
    parts = value if isinstance(value, list) else [part for part in str(value).split(";") if part.strip()]
    found = []
    for part in parts:
        if isinstance(part, dict):
            found.append(faults.make(str(part.get("fault")), {k: v for k, v in part.items() if k != "fault"}))
        else:
            found.append(faults.parse(str(part)))
    return tuple(found)


def _flag(value: object) -> bool:
    if str(value).lower() not in ("true", "false", "1", "0"):
        raise ValueError("write true or false")
    return str(value).lower() in ("true", "1")


_READERS: dict[str, Callable[[object], object]] = {
    "load_time": _number("seconds, 0 or more", 0),
    "load_mode": _word("refuse", "503"),
    "preset": _word(*PRESETS),
    "curve": lambda value: parse_curve(str(value)),
    "speed_factor": _number("a number above 0", 1e-6),
    "prefill_rate": _number("prompt tokens a second, above 0", 1e-6),
    "kv_tokens": _number("a whole number of tokens, 16 or more", 16, whole=True),
    "kv_gib": _number("GiB, 0 or more", 0),
    "model_gib": _number("GiB, 0 or more", 0),
    "answer_tokens": _answer_tokens,
    "reasoning_tokens": _number("a whole number of tokens", 0, whole=True),
    "seed": _number("a whole number", 0, whole=True),
    "fault": _faults,
    "control_host": str,
    "control_port": _number("a port number", 1, whole=True),
    "control_token": str,
    "device_lock": str,
    "admin_routes": _flag,
}


def _vllm_number(read: Callable[[object], float]) -> Callable[[str, str], float]:
    def of(flag: str, text: str) -> float:
        try:
            return read(text)
        except ValueError as error:
            raise UsageError(f"{flag}: found {text!r}; {error}") from None

    return of


def _context(flag: str, text: str) -> int:
    """vLLM's own spellings: 32768, 32k (thousands), 32K (times 1024), the same with m/M and g/G, auto."""
    if text in ("auto", "-1"):
        return Settings.max_model_len
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kKmMgG]?)", text)
    factor = {"": 1, "k": 10**3, "K": 2**10, "m": 10**6, "M": 2**20, "g": 10**9, "G": 2**30}
    tokens = int(float(match[1]) * factor[match[2]]) if match else 0
    if tokens < 1:
        raise UsageError(f"{flag}: found {text!r}; write a number of tokens, such as 32768 or 32k")
    return tokens


_NUMBERS: dict[str, Callable[[str, str], float]] = {
    "port": _vllm_number(_number("a port number", 1, whole=True)),
    "max_model_len": _context,
    "max_num_seqs": _vllm_number(_number("a whole number, 1 or more", 1, whole=True)),
    "gpu_memory_utilization": _vllm_number(_number("a share of the memory, above 0", 1e-6)),
    "block_size": _vllm_number(_number("a whole number of tokens, 1 or more", 1, whole=True)),
    "shutdown_timeout": _vllm_number(_number("seconds, 0 or more", 0)),
}
