"""`floor status`: every box, its operation, its units, and each backend as the pools see it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from floor.box.lease import LIVE
from floor.config.model import Config, ResolvedCopy
from floor.desired import copies, groups
from floor.desired.state import MODES
from floor.errors import BoxError
from floor.operations import status_groups
from floor.operations.caller import dead
from floor.operations.site import Site, tls_question
from floor.operations.status_warnings import warnings
from floor.plan import shared_address
from floor.plan.abandoned import finishing
from floor.plan.seen import Seen, parse


def status(site: Site) -> dict[str, Any]:
    """Look at every box once. Return {"boxes": {name: {...}}, "backends": [...], "warnings": [...]}, stable for --json,
    and where the proxies share one {"address": {"address", "holders": [names of boxes]}}.

    A box that does not answer is in it with `error`; the others are told all the same.
    """
    config = site.loaded.config
    answers = site.each(
        site.boxes, lambda box, transport: transport.call("observe", {"tls": tls_question(config, box)})
    )
    boxes = {name: _box(answer) for name, answer in answers.items()}
    for name, box in site.loaded.config.boxes.items():
        boxes.setdefault(name, {"managed": False, "host": box.host})
    seen = {name: answer for name, answer in answers.items() if not isinstance(answer, BoxError)}
    backends = _backends(site, seen)
    found: dict[str, Any] = {
        "boxes": boxes,
        "backends": backends,
        "warnings": warnings(site.loaded.config, boxes, backends),
    }
    shared = config.proxy.address
    if shared is None:
        return found
    proxies = {name: seen[name] for name in config.proxy.boxes if name in seen}
    holders = [name for name, answer in proxies.items() if shared_address.holds(answer["facts"], shared)]
    units = {name: answer["units"] for name, answer in proxies.items()}
    told = [*found["warnings"], *shared_address.warnings(config, holders, units)]
    return {**found, "warnings": told, "address": {"address": shared, "holders": holders}}


def _box(answer: Any) -> dict[str, Any]:
    if isinstance(answer, BoxError):
        return {"managed": True, "error": str(answer)}
    operation = answer.get("operation")
    return {
        "managed": True,
        "release": answer.get("release"),
        "mode": answer.get("mode"),
        "memory": answer["facts"].get("memory"),
        "operation": _operation(operation) if operation else None,
        "alarms": list(answer.get("alarms") or ()),
        "units": {
            name: {key: unit.get(key) for key in ("active", "sub", "enabled", "restarts", "since", "left")}
            for name, unit in answer["units"].items()
        },
        "firewall": answer.get("firewall"),
        "tls": answer.get("tls"),
        "replacing": sorted((answer.get("keys") or {}).get("next") or ()),
        "clients": {name: len(keys) for name, keys in (answer.get("clients") or {}).items()},
    }


def _operation(found: dict[str, Any]) -> dict[str, Any]:
    """The record, whether its process has left it, and the command that goes on with it; None where nothing is left."""
    told = {key: found.get(key) for key in ("epoch", "verb", "state", "live", "by")}
    abandoned = found["state"] == LIVE and (not found["live"] or dead(found["by"]))
    finish = None if found.get("passing") else finishing(found["verb"], found.get("target"))
    return {**told, "abandoned": abandoned, "finish": finish}


def _backends(site: Site, answers: dict[str, Any]) -> list[dict[str, Any]]:
    config = site.loaded.config
    proxies = [parse(box, answers[box]) for box in config.proxy.boxes if box in answers]
    found = []
    for model in config.models:
        parts = config.parts(model)
        for copy in _answering(config, model, answers):
            grouped = copy in parts
            name = groups.unit_name(model) if grouped else copies.unit_name(model)
            unit = answers.get(copy.box, {}).get("units", {}).get(name, {})
            pools = {proxy.box: _entry(proxy, model, copy.backend) for proxy in proxies}
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
                    "drains": _holders(pools.values()),
                    "group": status_groups.told(parts, answers) if grouped else None,
                }
            )
    return found


def _answering(config: Config, model: str, answers: Mapping[str, Any]) -> list[ResolvedCopy]:
    """Whoever answers for a model in a mode that a box is in. Boxes in different ones are an unfinished switch."""
    modes = {str(answer["mode"]) for answer in answers.values() if answer.get("mode")} or {MODES[0]}
    found = {one.backend: one for mode in MODES if mode in modes for one in config.backends(model, mode)}
    return list(found.values())


def _holders(entries: Iterable[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(holder for entry in entries for holder in entry.get("drains") or ()))


def _entry(proxy: Seen, model: str, backend: str) -> dict[str, Any]:
    return dict(proxy.pooled(model).get("backends", {}).get(backend, {}))
