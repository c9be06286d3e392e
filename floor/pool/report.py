"""/run/floor/pool/state.json: what the pool tells others, and what its next run goes on from. Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from floor.errors import FloorError
from floor.healthcheck.verdict import Verdict

from .decide import Decision
from .memory import Memory, Seen
from .rollout import Rollout
from .settings import Pool


@dataclass(frozen=True)
class Former:
    """What a former run of this boot has left: memories and drains by backend, and how far nginx was."""

    memories: Mapping[str, Memory] = field(default_factory=dict)
    holders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    front: tuple[Rollout, tuple[int, int] | None, int] | None = None


@dataclass(frozen=True)
class Now:
    """The moment of a report: unix seconds, this boot's id, the monotonic clock, and the service's pid."""

    unix: float
    boot: str
    monotonic: float
    pid: int


def compose(
    now: Now,
    pools: tuple[Pool, ...],
    members: frozenset[str],
    memories: Mapping[str, Memory],
    seen: Mapping[str, Seen],
    decisions: Mapping[str, Decision],
    front: tuple[Rollout, tuple[int, int] | None, int],
    acknowledged: Mapping[str, bool],
) -> dict[str, Any]:
    """Given all that is known, return the report. `members` are those that every worker of nginx knows."""
    rollout, told, written = front
    return {
        "at": now.unix,
        "pid": now.pid,
        "boot": now.boot,
        "pools": {
            pool.model: {
                "members": [backend.name for backend in pool.backends if backend.name in members],
                "generation": rollout.generation,
                "backends": {
                    backend.name: {
                        "member": backend.name in members,
                        **_decided(decisions[backend.name]),
                        **_measured(seen[backend.name].verdict),
                        "since": _unix(memories[backend.name].since, now),
                        "drains": list(seen[backend.name].drains),
                        "unit": _unit(seen[backend.name]),
                    }
                    for backend in pool.backends
                },
            }
            for pool in pools
        },
        "acknowledged": dict(acknowledged),
        "nginx": {
            "generation": rollout.generation,
            "settled": rollout.settled,
            "left": dict(rollout.left),
            "joined": dict(rollout.joined),
            "old": sorted(map(list, rollout.old)),
            "told": None if told is None else list(told),
            "written": written,
        },
        "memory": {
            name: {
                "served": memory.served,
                "outs": list(memory.outs),
                "faulted": memory.faulted,
                "since": _finite(memory.since),
            }
            for name, memory in memories.items()
        },
    }


def restore(text: str, where: str, boot: str, monotonic: float) -> Former:
    """Given the report of a former run, its name, this boot's id and the monotonic clock, return what to go on from.

    Who is a member stands in the members file alone, so no memory says so yet. A report of another boot says nothing of
    this one. Raise FloorError if it is no report.
    """
    try:
        document = json.loads(text)
        if document["boot"] != boot:
            return Former()
        memories = {
            name: Memory(
                since=-math.inf if memory["since"] is None else float(memory["since"]),
                served=str(memory["served"]),
                outs=tuple(float(at) for at in memory["outs"]),
                faulted=bool(memory["faulted"]),
            )
            for name, memory in document["memory"].items()
        }
        holders = {
            name: tuple(map(str, backend["drains"]))
            for pool in document["pools"].values()
            for name, backend in pool["backends"].items()
            if backend["drains"]
        }
        nginx = document["nginx"]
        rollout = Rollout(
            generation=int(nginx["generation"]),
            settled=int(nginx["settled"]),
            left={str(name): int(number) for name, number in nginx["left"].items()},
            joined={str(name): int(number) for name, number in nginx["joined"].items()},
            old=frozenset((int(pid), int(started)) for pid, started in nginx["old"]),
            since=monotonic,
            accepting_since=monotonic,
        )
        told = None if nginx["told"] is None else (int(nginx["told"][0]), int(nginx["told"][1]))
        return Former(memories, holders, (rollout, told, int(nginx["written"])))
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError) as error:
        raise FloorError(f"{where}: is not a report of floor-pool ({error!r:.80}); starting without it") from error


def _decided(decision: Decision) -> dict[str, Any]:
    return {"reason": decision.reason, "evidence": decision.evidence}


def _measured(verdict: Verdict | None) -> dict[str, Any]:
    if verdict is None:
        return {"level": None, "running": None, "waiting": None, "latency": None}
    return {
        "level": int(verdict.level),
        "running": verdict.running,
        "waiting": verdict.waiting,
        "latency": None if verdict.latency is None else round(verdict.latency, 4),
    }


def _unit(seen: Seen) -> str | None:
    """`active`, `failed`, …; `unknown` where the box does not tell; None where floor does not manage it."""
    if not seen.managed:
        return None
    return "unknown" if seen.unit is None else seen.unit.active


def _unix(monotonic: float, now: Now) -> float | None:
    return None if math.isinf(monotonic) else round(now.unix - (now.monotonic - monotonic), 3)


def _finite(value: float) -> float | None:
    return None if math.isinf(value) else value
