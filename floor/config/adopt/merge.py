"""Copies that are one model on several boxes, brought together: what all share, and what differs per copy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from floor.config.adopt.options import Option

_DEFAULTS: dict[str, Any] = {"engine": "vllm", "task": "generate", "port": 8000, "kv_cache": "auto"}
_ORDER = ("engine", "task", "source", "context", "max_requests", "kv_cache", "utilization", "cache_memory", "port")


@dataclass(frozen=True)
class Joined:
    """One model: its options, and for each copy the box and what differs there."""

    name: str
    options: tuple[Option, ...]
    shared: dict[str, Any]
    copies: tuple[tuple[str, dict[str, Any]], ...]


def join(options: Sequence[Option]) -> list[Joined]:
    """Given copies, return models: those of one name on different boxes are one, a second one on a box gets another
    name."""
    groups: dict[str, list[Option]] = {}
    for option in options:
        name, number = option.name, 2
        while any(other.found.box == option.found.box for other in groups.get(name, ())):
            name, number = f"{option.name}-{number}", number + 1
        if name != option.name:
            option.lost.append(
                f"a box holds one copy of a model: this one is called {name}, and clients must ask for it"
            )
        groups.setdefault(name, []).append(option)
    return [_joined(name, group) for name, group in groups.items()]


def _joined(name: str, group: Sequence[Option]) -> Joined:
    first = group[0]
    shared: dict[str, Any] = {}
    for key in _ORDER:
        if key in first.values and first.values[key] != _DEFAULTS.get(key, ...):
            shared[key] = first.values[key]
    shared["runtime"] = first.runtime
    for key in ("args", "env"):
        every = [getattr(option, key) for option in group]
        common = {
            flag: given
            for flag, given in every[0].items()
            if all(flag in other and other[flag] == given for other in every)
        }
        shared |= {key: common} if common else {}
    return Joined(name, tuple(group), shared, tuple((option.found.box, _differs(option, shared)) for option in group))


def _differs(option: Option, shared: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key in _ORDER:
        mine = option.values.get(key, _DEFAULTS.get(key))
        if mine != shared.get(key, _DEFAULTS.get(key)):
            found[key] = mine
    if option.runtime != shared["runtime"]:
        found["runtime"] = option.runtime
    for key in ("args", "env"):
        own = {flag: given for flag, given in getattr(option, key).items() if flag not in shared.get(key, {})}
        found |= {key: own} if own else {}
    return found
