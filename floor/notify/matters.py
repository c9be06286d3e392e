"""What of all that a box knows needs a person. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from floor.box import direct

from .decide import Matter

LOST = 120.0  # seconds that a copy is out for a fault before anybody is told: most come back by themselves
STOPPED = 300.0  # seconds; at a boot a unit is down until its turn comes, and who stops one may start it soon
SILENT = 60.0  # seconds; a pool reports every two
ABANDONED = 60.0  # seconds; whoever lost the connection may run the command again


def of_operation(record: Mapping[str, Any] | None) -> list[Matter]:
    """Given the box's operation record (with `live`), return whether somebody must finish something."""
    if record is None or record["live"] or record["state"] in ("done", "aborted"):
        return []
    by = record.get("by") or {}
    who = f"{by.get('user', '?')}@{by.get('host', '?')}"
    what = "was abandoned" if record["state"] == "live" else f"ended {record['state']}"
    text = f"`{record['verb']}` of {who} {what}; run the same command again to finish it"
    return [Matter(f"operation {record['epoch']}", text, ABANDONED)]


def of_pools(report: Mapping[str, Any] | None, unix: float, away: Collection[str] = ()) -> list[Matter]:
    """Given the report of the box's pool (None: no proxy), unix seconds and the models that a switch or a swap keeps
    away now, return which models are short of copies, and who is lost; of an old report only that it is old.

    A model that nobody is to serve in the present mode is short of nothing."""
    silent = unix - float((report or {}).get("at", unix))
    if silent > SILENT:
        text = f"floor-pool has not reported for {silent:.0f} s: nobody takes a copy out that fails"
        return [Matter("pool silent", f"{text}; see `systemctl status floor-pool`")]
    found = []
    for model, pool in ((report or {}).get("pools") or {}).items():
        members, backends = pool.get("members") or [], pool.get("backends") or {}
        if model in away or not backends:
            continue
        if not members:
            found.append(Matter(f"nobody {model}", f"{model}: nobody serves it"))
        elif len(members) == 1 and len(backends) > 1:
            found.append(Matter(f"one left {model}", f"{model}: only {members[0]} is left", LOST))
        for name, one in backends.items():
            if not one.get("member") and not one.get("drains"):
                text = f"{name} is out: {one.get('reason')}: {one.get('evidence')}"
                found.append(Matter(f"lost {name}", text, LOST))
    return found


def of_decisions(decisions: Sequence[tuple[str, str, str]]) -> list[Matter]:
    """Given (backend, reason, evidence) of what the watchdog could not put right by itself, return the matters."""
    return [
        Matter(f"{backend} {reason}", f"{backend}: {reason}: {evidence}", STOPPED if reason == "stopped" else 0.0)
        for backend, reason, evidence in decisions
    ]


def of_holds(holds: Mapping[str, str]) -> list[Matter]:
    """Given the units that the guard keeps down, with its words, return the matters."""
    return [Matter(f"hold {unit}", f"{unit}: {words}") for unit, words in holds.items()]


def of_direct(found: Sequence[Mapping[str, Any]]) -> list[Matter]:
    """Given who began connections to engines of this box past the proxy ({address, connections}), return the matters:
    such a client loads one copy alone, or is kept off and does not know why."""
    return [
        Matter(
            f"direct {one['address']}",
            f"{one['address']} asks {direct.words(one['address'])} past the proxy "
            f"({one['connections']} connections so far); see `floor clients`, and give that client the proxy's address",
        )
        for one in found
    ]
