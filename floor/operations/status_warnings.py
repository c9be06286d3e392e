"""What `floor status` warns of: operations that did not end well, processes left behind, models short of copies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from floor.config.model import Config

Told = Mapping[str, Any]


def warnings(config: Config, boxes: Mapping[str, Told], backends: Sequence[Told]) -> list[str]:
    """Given the config, and boxes and backends as `floor status --json` shows them, return what a person should see."""
    found = [line for name, box in boxes.items() for line in _box(config, name, box)]
    found += [
        f"{entry['backend']}: processes that outlived their unit hold on: pids {', '.join(map(str, entry['left']))}"
        for entry in backends
        if entry["unit"] in ("inactive", "failed") and entry["left"]
    ]
    for model in config.models:
        copies = [entry for entry in backends if entry["model"] == model]
        members = [entry for entry in copies if any(entry["member"].values())]
        if copies and not members:
            found.append(f"{model}: nobody serves it")
        elif len(members) == 1 and len(copies) > 1:
            found.append(f"{model}: only {members[0]['backend']} is left")
    return found


def _box(config: Config, name: str, box: Told) -> list[str]:
    if "error" in box:
        return [str(box["error"])]
    found = _operation(name, box.get("operation") or {})
    pool = (box.get("units") or {}).get("floor-pool.service", {})
    if name in config.proxy.boxes and pool and pool["active"] != "active":
        found.append(f"{name}: floor-pool is {pool['active']}: what its pool says is old, and nobody changes it")
    return found


def _operation(name: str, operation: Told) -> list[str]:
    if not operation:
        return []
    by = operation.get("by") or {}
    who, what = f"{by.get('user')}@{by.get('host')}", f"floor {operation['verb']}"
    if operation["live"]:
        return [f"{name}: {who} is at work: {what}, operation {operation['epoch']}"]
    match operation["state"]:
        case "done":
            return []
        case "live":
            return [f"{name}: {what} was abandoned by {who}; run it again to finish it"]
        case state:
            return [f"{name}: {what} of {who} {_ENDED.get(state, f'ended {state}')}; run it again to finish it"]


_ENDED = {"failed": "failed", "interrupted": "was interrupted", "aborted": "was aborted"}
