"""The settings that only a simulation has: from flags, the environment, or a JSON file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from floor.errors import UsageError
from floor.sim import faults
from floor.sim.curve import PRESETS, parse_curve
from floor.sim.settings import Simulation

Reader = Callable[[object], object]
FILE = "FLOOR_SIM_CONFIG"


def read(flags: Mapping[str, Sequence[str]], env: Mapping[str, str]) -> Simulation:
    """The simulation that was asked for. `flags` has the values of each `sim-NAME` flag, in order.

    Raises UsageError: where it was written, what was found, what to write.
    """
    found: dict[str, object] = {}
    for where, name, value in _sources(flags, env):
        if name not in _READERS:
            names = ", ".join(sorted(known.replace("_", "-") for known in _READERS))
            raise UsageError(f"{where}: no such simulation setting; there are {names}")
        try:
            found[name] = _READERS[name](value)
        except ValueError as error:
            raise UsageError(f"{where}: found {value!r}; {error}") from None
        except UsageError as error:
            raise UsageError(f"{where}: {error}") from None
    return Simulation(**found)  # type: ignore[arg-type]  # each reader returns its field's type


def _sources(flags: Mapping[str, Sequence[str]], env: Mapping[str, str]) -> Iterator[tuple[str, str, object]]:
    """(where it was written, field, value), weakest first: file, environment, flags."""
    if path := env.get(FILE):
        for name, value in _file(Path(path)).items():
            yield f"{path}: {name}", name.replace("-", "_"), value
    for variable, value in env.items():
        if variable.startswith("FLOOR_SIM_") and variable != FILE:
            yield variable, variable.removeprefix("FLOOR_SIM_").lower(), value
    for flag, values in flags.items():
        name = flag.removeprefix("sim-").replace("-", "_")
        if not values and name != "admin_routes":
            raise UsageError(f"--{flag}: nothing follows it; write --{flag} VALUE")
        yield f"--{flag}", name, list(values) if name == "fault" else (values or ["true"])[-1]


def _file(path: Path) -> dict[str, object]:
    try:
        content = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise UsageError(f"{FILE}={path}: cannot be read as JSON: {error}") from None
    if not isinstance(content, dict):
        raise UsageError(f"{FILE}={path}: found {type(content).__name__}; write an object of settings")
    return content


def number(what: str, least: float, whole: bool = False, most: float = 1e15) -> Callable[[object], float]:
    """A reader of numbers from `least` to `most`; it raises ValueError with the advice to write `what`."""

    def of(value: object) -> float:
        try:
            found = int(str(value)) if whole else float(str(value))
        except ValueError:
            raise ValueError(f"write {what}") from None
        if not least <= found <= most:
            raise ValueError(f"write {what}")
        return found

    return of


port = number("a port number, 1 to 65535", 1, whole=True, most=65535)


def _word(*words: str) -> Reader:
    def of(value: object) -> str:
        if str(value) not in words:
            raise ValueError(f"write one of {', '.join(words)}")
        return str(value)

    return of


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


_READERS: dict[str, Reader] = {
    "load_time": number("seconds, 0 or more", 0),
    "load_mode": _word("refuse", "503"),
    "dialect": _word("vllm", "llamacpp", "ollama"),
    "preset": _word(*PRESETS),
    "curve": lambda value: parse_curve(str(value)),
    "speed_factor": number("a number above 0", 1e-6),
    "prefill_rate": number("prompt tokens a second, above 0", 1e-6),
    "kv_tokens": number("a whole number of tokens, 1 or more", 1, whole=True),
    "kv_gib": number("GiB, 0 or more", 0),
    "model_gib": number("GiB, 0 or more", 0),
    "graphs_gib": number("GiB; vLLM has logged less than 0", -1000),
    "answer_tokens": _answer_tokens,
    "reasoning_tokens": number("a whole number of tokens", 0, whole=True),
    "seed": number("a whole number", 0, whole=True),
    "fault": _faults,
    "control_host": str,
    "control_port": port,
    "control_token": str,
    "device_lock": str,
    "admin_routes": _flag,
    "answers": str,
}
