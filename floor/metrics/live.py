"""All that a person is shown of a site as it is now, as one document: for the status page and the terminal. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from floor.box.away import words

from .recent import short
from .told import Box

LATE = 6.0  # seconds without a word after which a box counts as silent; three looks
EVENTS = 30
ENGINES = ("floor-copy-", "floor-group-")
RUNS_ONCE = ("floor-watchdog.service",)  # of which `inactive` is no news


def compose(
    unix: float,
    now: float,
    asked: str,
    boxes: Mapping[str, Box],
    pool: Mapping[str, Any] | None,
    figures: Mapping[str, Mapping[str, Any]],
    looks: Mapping[str, str],
) -> dict[str, Any]:
    """Given unix seconds and the monotonic clock, the box that tells, what each box told last, the report of this box's
    pool (None: there is none), figures by name (`model:M`, `copy:C`) and why each copy's metrics cannot be read (empty:
    they can), return the document. What is not known is null, never 0."""
    pools = (pool or {}).get("pools") or {}
    copies = [
        _copy(name, model, entry, boxes, figures.get(f"copy:{name}", {}), looks.get(name))
        for model, one in pools.items()
        for name, entry in (one.get("backends") or {}).items()
    ]
    models = {model: _model(model, copies, boxes, figures.get(f"model:{model}", {}), unix) for model in pools}
    shown = {name: _box(box, now) for name, box in boxes.items()}
    return {
        "at": round(unix, 3),
        "asked": asked,
        "pool_age": None if pool is None else round(max(0.0, unix - float(pool.get("at") or 0.0)), 1),
        "boxes": shown,
        "models": models,
        "copies": copies,
        "warnings": _warnings(shown, models, copies, pool, unix),
        "events": _events(boxes),
    }


def _copy(
    name: str,
    model: str,
    entry: Mapping[str, Any],
    boxes: Mapping[str, Box],
    figures: Mapping[str, Any],
    look: str | None,
) -> dict[str, Any]:
    """One backend: in this box's pool or why not; `out_of` are the other pools that do not have it."""
    told = short(figures)
    for name_of, word in (("requests_running", "running"), ("requests_waiting", "waiting")):
        if told[name_of] is None and entry.get(word) is not None:
            told[name_of] = float(entry[word])
    others = {
        box: one.told.pool[name]
        for box, one in boxes.items()
        if one.told.pool is not None and name in one.told.pool and not one.why
    }
    return {
        "copy": name,
        "model": model,
        "member": bool(entry.get("member")),
        "out_of": sorted(box for box, inside in others.items() if not inside),
        "reason": entry.get("reason"),
        "evidence": entry.get("evidence"),
        "since": entry.get("since"),
        "unit": entry.get("unit"),
        "drains": list(entry.get("drains") or ()),
        "metrics": look,
        **told,
    }


def _model(
    model: str, copies: Sequence[Mapping[str, Any]], boxes: Mapping[str, Box], figures: Mapping[str, Any], unix: float
) -> dict[str, Any]:
    mine = [one for one in copies if one["model"] == model]
    away = next((one.told.away[model] for one in boxes.values() if model in one.told.away and not one.why), None)
    told = short(figures)
    for name in ("requests_running", "requests_waiting"):
        known = [one[name] for one in mine if one[name] is not None]
        told[name] = told[name] if told[name] is not None or not known else math.fsum(known)
    return {
        "members": sum(one["member"] for one in mine),
        "copies": len(mine),
        "away": None if away is None else _away(away, unix),
        **told,
    }


def _away(told: Mapping[str, Any], unix: float) -> dict[str, Any]:
    return {**told, "what": words(told["mode"]), "left": round(max(0.0, told["until"] - unix), 1)}


def _box(box: Box, now: float) -> dict[str, Any]:
    told, age = box.told, None if box.at is None else now - box.at
    silent = age is None or age > LATE
    services = {
        name: state
        for name, state in told.units.items()
        if not name.startswith(ENGINES) and not name.endswith(".target")
    }
    down = sorted(name for name, state in services.items() if state != "active" and name not in RUNS_ONCE)
    return {
        "up": not silent,
        "why": box.why if silent else "",
        "age": None if age is None else round(age, 1),
        "mode": told.mode,
        "memory": {"total": told.total, "available": told.available, "floor": told.floor},
        "services": {"active": sum(state == "active" for state in services.values()), "down": down},
        "engines": {name: state for name, state in told.units.items() if name.startswith(ENGINES)},
        "operation": told.operation,
        "holds": dict(told.holds),
        "direct": [{"address": address, "connections": count} for address, count in told.direct],
        "problems": list(told.problems),
    }


def _warnings(
    boxes: Mapping[str, Mapping[str, Any]],
    models: Mapping[str, Mapping[str, Any]],
    copies: Sequence[Mapping[str, Any]],
    pool: Mapping[str, Any] | None,
    unix: float,
) -> list[str]:
    """What a person should see first, the worst of it first."""
    found = []
    if pool is None:
        found.append("floor-pool does not report: who serves is not known")
    elif unix - float(pool.get("at") or 0.0) > LATE:
        found.append(f"floor-pool has not reported for {unix - float(pool.get('at') or 0.0):.0f} s")
    for model, one in models.items():
        if one["away"]:
            left = one["away"]["left"]
            found.append(f"{model}: a {one['away']['what']} keeps it away for some {left:.0f} s more")
        elif not one["members"] and one["copies"]:
            found.append(f"{model}: nobody serves it")
        elif one["members"] == 1 and one["copies"] > 1:
            last = next(copy["copy"] for copy in copies if copy["model"] == model and copy["member"])
            found.append(f"{model}: only {last} is left")
    found += [text for name, box in boxes.items() for text in _of_box(name, box)]
    return [*found, *_operations(boxes), *_modes(boxes)]


def _of_box(name: str, box: Mapping[str, Any]) -> list[str]:
    if not box["up"]:
        return [f"{name}: {box['why'] or 'silent'}"]
    found = [f"{name}: {unit.removesuffix('.service')}: {words}" for unit, words in box["holds"].items()]
    found += [f"{name}: {text}" for text in box["problems"]]
    if box["services"]["down"]:
        found.append(f"{name}: does not run: {', '.join(box['services']['down'])}")
    if box["direct"]:
        told = ", ".join(f"{one['address']} ({one['connections']})" for one in box["direct"][:3])
        found.append(f"{name}: connections to engines past the proxy: {told}")
    return found


def _operations(boxes: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Each operation that is at work or did not end well, once for all boxes that tell the same of it."""
    found: dict[str, list[str]] = {}
    for name, box in boxes.items():
        one = box["operation"]
        if not box["up"] or not one or one["state"] in ("done", "aborted"):
            continue
        state = "is at work" if one["live"] else "was abandoned" if one["state"] == "live" else f"ended {one['state']}"
        found.setdefault(f"floor {one['verb']} of {one['by']} {state}", []).append(name)
    return [f"{', '.join(names)}: {words}" for words, names in found.items()]


def _modes(boxes: Mapping[str, Mapping[str, Any]]) -> list[str]:
    modes = {name: box["mode"] for name, box in boxes.items() if box["up"] and box["mode"]}
    if len(set(modes.values())) < 2:
        return []
    return [f"the boxes are in different modes ({', '.join(f'{name}: {mode}' for name, mode in modes.items())})"]


def _events(boxes: Mapping[str, Box]) -> list[dict[str, Any]]:
    """The newest first, by the boxes' own clocks."""
    every: list[dict[str, Any]] = [
        {"at": at, "box": name, "who": who, "text": text}
        for name, box in boxes.items()
        for at, who, text in box.told.events
    ]
    return sorted(every, key=lambda one: -one["at"])[:EVENTS]
