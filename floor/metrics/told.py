"""What a box tells of itself on its status port, as far as people are shown it. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .exposition import UnreadableError

MOST = 200  # of anything that is listed; a box has some ten units


@dataclass(frozen=True)
class Told:
    """`units` are states by name, `drained` the holders by backend, `pool` whether each backend is a member there (None
    where no pool reports). Memory is in bytes, None where it is not known; `floor` is the guard's."""

    mode: str | None = None
    total: float | None = None
    available: float | None = None
    floor: float | None = None
    units: Mapping[str, str] = field(default_factory=dict)
    operation: Mapping[str, Any] | None = None
    away: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    holds: Mapping[str, str] = field(default_factory=dict)
    pool: Mapping[str, bool] | None = None
    pool_age: float | None = None
    direct: tuple[tuple[str, int], ...] = ()
    groups: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    events: tuple[tuple[float, str, str], ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Box:
    """What a box told last, and `why` the last look brought nothing (empty: it did). `at` is when, by a monotonic
    clock; None: never yet."""

    told: Told = field(default_factory=Told)
    why: str = "not looked at yet"
    at: float | None = None


def read(body: bytes) -> Told:
    """Given the body of an answer to `GET /box`, return what is in it. Raise UnreadableError if it is none."""
    try:
        found = json.loads(body)
        memory, pool = found.get("memory") or {}, found.get("pool")
        return Told(
            mode=_text(found.get("mode")),
            total=_number(memory.get("total")),
            available=_number(memory.get("available")),
            floor=_number(found.get("floor")),
            units={str(name): str(one["active"]) for name, one in list(found["units"].items())[:MOST]},
            operation=_operation(found.get("operation")),
            away={
                str(model): {"until": float(one["until"]), "mode": str(one["mode"])}
                for model, one in (found.get("away") or {}).items()
            },
            holds={str(unit): str(words) for unit, words in (found.get("holds") or {}).items()},
            pool=None if pool is None else {str(name): bool(one["member"]) for name, one in pool["backends"].items()},
            pool_age=None if pool is None else float(pool["age"]),
            direct=tuple((str(one["address"]), int(one["connections"])) for one in (found.get("direct") or ())[:MOST]),
            groups={str(model): dict(one) for model, one in (found.get("groups") or {}).items()},
            events=tuple((float(one["at"]), str(one["who"]), str(one["text"])) for one in found.get("events") or ()),
            problems=tuple(map(str, found.get("problems") or ())),
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise UnreadableError(f"is no answer of a status port ({error!r:.60})") from error


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _operation(found: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if found is None:
        return None
    by = found.get("by") or {}
    return {
        "epoch": int(found["epoch"]),
        "verb": str(found["verb"]),
        "state": str(found["state"]),
        "live": bool(found["live"]),
        "by": f"{by.get('user')}@{by.get('host')}",
    }
