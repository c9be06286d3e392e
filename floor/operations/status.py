"""`floor status`: every box, its operation, its units, and each backend as the pools see it."""

from __future__ import annotations

from typing import Any

from floor.errors import BoxError
from floor.operations.site import Site


def status(site: Site) -> dict[str, Any]:
    """Look at every box once. Return {"boxes": {name: {...}}, "backends": [...], "warnings": [...]}, stable for --json.

    A box that does not answer is in it with `error`; the others are told all the same.
    """
    answers = site.each(site.boxes, lambda _box, transport: transport.call("observe", {}))
    boxes = {name: _box(answer) for name, answer in answers.items()}
    for name, box in site.loaded.config.boxes.items():
        boxes.setdefault(name, {"managed": False, "host": box.host})
    backends = _backends(site, {name: a for name, a in answers.items() if not isinstance(a, BoxError)})
    return {"boxes": boxes, "backends": backends, "warnings": _warnings(site, boxes, backends)}


def _box(answer: Any) -> dict[str, Any]:
    if isinstance(answer, BoxError):
        return {"managed": True, "error": str(answer)}
    operation = answer.get("operation")
    return {
        "managed": True,
        "release": answer.get("release"),
        "mode": answer.get("mode"),
        "memory": answer["facts"].get("memory"),
        "operation": {key: operation.get(key) for key in ("epoch", "verb", "state", "live", "by")}
        if operation
        else None,
        "units": {
            name: {key: unit.get(key) for key in ("active", "sub", "enabled", "restarts", "since", "left")}
            for name, unit in answer["units"].items()
        },
    }


def _backends(site: Site, answers: dict[str, Any]) -> list[dict[str, Any]]:
    config = site.loaded.config
    found = []
    for model in config.models:
        for copy in config.copies(model):
            unit = answers.get(copy.box, {}).get("units", {}).get(f"floor-copy-{model}.service", {})
            pools = {box: _entry(answers[box], model, copy.backend) for box in config.proxy.boxes if box in answers}
            known = next((entry for entry in pools.values() if entry), {})
            found.append(
                {
                    "backend": copy.backend,
                    "model": model,
                    "box": copy.box,
                    "managed": copy.managed,
                    "unit": unit.get("active") if copy.managed else None,
                    "left": unit.get("left") or [],
                    "member": {box: bool(entry.get("member")) for box, entry in pools.items()},
                    "reason": known.get("reason"),
                    "evidence": known.get("evidence"),
                    "running": known.get("running"),
                    "waiting": known.get("waiting"),
                    "drains": known.get("drains") or [],
                }
            )
    return found


def _entry(answer: dict[str, Any], model: str, backend: str) -> dict[str, Any]:
    pools = (answer.get("pool") or {}).get("pools", {})
    return dict(pools.get(model, {}).get("backends", {}).get(backend, {}))


def _warnings(site: Site, boxes: dict[str, Any], backends: list[dict[str, Any]]) -> list[str]:
    warnings = []
    for name, box in boxes.items():
        operation = box.get("operation") or {}
        by = operation.get("by") or {}
        who = f"{by.get('user')}@{by.get('host')}"
        if operation.get("live"):
            warnings.append(f"{name}: {who} is at work: floor {operation['verb']}, operation {operation['epoch']}")
        elif operation and operation.get("state") != "done":
            ended = "abandoned" if operation["state"] == "live" else operation["state"]
            warnings.append(f"{name}: floor {operation['verb']} was {ended} by {who}; run it again to finish it")
    warnings += [
        f"{entry['backend']}: processes without a unit hold on: pids {entry['left']}"
        for entry in backends
        if entry["unit"] in ("inactive", "failed") and entry["left"]
    ]
    for model in site.loaded.config.models:
        members = [entry for entry in backends if entry["model"] == model and any(entry["member"].values())]
        copies = [entry for entry in backends if entry["model"] == model]
        if not members:
            warnings.append(f"{model}: nobody serves it")
        elif len(members) == 1 and len(copies) > 1:
            warnings.append(f"{model}: only {members[0]['backend']} is left")
    return warnings
