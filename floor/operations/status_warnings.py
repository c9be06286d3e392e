"""What `floor status` warns of: operations that did not end well, processes left behind, models short of copies."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from floor.config.model import Config
from floor.plan.abandoned import ABORT, SWAP, SWAP_BACK, SWITCH, SWITCH_BACK, began

Told = Mapping[str, Any]
DAY = 86400.0
SOON = 14 * DAY
NAMED = 5  # addresses that a line names; the rest is counted


def warnings(config: Config, boxes: Mapping[str, Told], backends: Sequence[Told]) -> list[str]:
    """Given the config, and boxes and backends as `floor status --json` shows them, return what a person should see."""
    found = [line for name, box in boxes.items() for line in _box(config, name, box)]
    found += _operations(boxes)
    found += [
        f"{entry['backend']}: processes that outlived their unit hold on: pids {', '.join(map(str, entry['left']))}"
        for entry in backends
        if entry["unit"] in ("inactive", "failed") and entry["left"] and not entry["group"]
    ]
    found += [line for entry in backends if entry["group"] for line in _group(entry)]
    found += _modes(boxes)
    found += _keys(boxes)
    for model in config.models:
        copies = [entry for entry in backends if entry["model"] == model]
        if not copies and config.models[model].split is not None:
            found.append(f"{model}: nobody is to serve it in this mode; floor switch split is what starts it")
        members = [entry for entry in copies if any(entry["member"].values())]
        if copies and not members:
            found.append(f"{model}: nobody serves it")
        elif len(members) == 1 and len(copies) > 1:
            found.append(f"{model}: only {members[0]['backend']} is left")
    return found


def _group(entry: Told) -> list[str]:
    """Half a group, and what is left of a part that does not run: it keeps memory, and the group from beginning."""
    group = entry["group"]
    found = [
        f"{entry['backend']}: processes that outlived their unit on {part['box']} hold on: pids "
        + ", ".join(map(str, part["left"]))
        for part in group["parts"]
        if part["unit"] in ("inactive", "failed") and part["left"]
    ]
    if group["state"] == "degraded":
        found.append(f"{entry['backend']} is {group['why']}{_since(group['since'])}; it begins anew when all parts can")
    return found


def _since(at: float | None) -> str:
    return f", since {time.strftime('%H:%M:%S', time.localtime(at))}" if at else ""


def _modes(boxes: Mapping[str, Told]) -> list[str]:
    modes = {name: box["mode"] for name, box in boxes.items() if box.get("mode")}
    if len(set(modes.values())) < 2:
        return []
    told = ", ".join(f"{name}: {mode}" for name, mode in modes.items())
    return [f"the boxes are in different modes ({told}): a switch did not end; floor switch tells how to end it"]


def _box(config: Config, name: str, box: Told) -> list[str]:
    if "error" in box:
        return [str(box["error"])]
    found = [f"{name}: {alarm}" for alarm in box.get("alarms") or ()]
    pool = (box.get("units") or {}).get("floor-pool.service", {})
    if name in config.proxy.boxes and pool and pool["active"] != "active":
        found.append(f"{name}: floor-pool is {pool['active']}: what its pool says is old, and nobody changes it")
    return [*found, *_firewall(config, name, box), *_certificate(config, name, box)]


def _keys(boxes: Mapping[str, Told]) -> list[str]:
    """Keys that are being replaced, which is to come to an end."""
    kinds = sorted({kind for box in boxes.values() for kind in box.get("replacing") or ()})
    found = [f"the {kind} key is being replaced; run floor deploy to finish it" for kind in kinds]
    twice = {name for box in boxes.values() for name, keys in (box.get("clients") or {}).items() if keys > 1}
    return [
        *found,
        *(f"{name} has an old key beside its new one; end it by floor key retire {name}" for name in sorted(twice)),
    ]


def _certificate(config: Config, name: str, box: Told) -> list[str]:
    """A certificate that clients will soon refuse, or that nginx could not start with."""
    there = box.get("tls")
    if config.proxy.tls is None or not there:
        return []
    if there["problem"]:
        return [f"{name}: {there['problem']}: nginx goes on with what it has read, and cannot start again"]
    left = there["left"]
    if left is None or left > SOON:
        return []
    path = config.proxy.tls.certificate
    if left <= 0:
        return [f"{name}: {path} has ended: clients refuse it; renew it and run floor deploy"]
    return [f"{name}: {path} ends in {left / DAY:.0f} days; renew it and run floor deploy"]


def _firewall(config: Config, name: str, box: Told) -> list[str]:
    """Rules that are not in force, and who went past the proxy."""
    live, unit = box.get("firewall") or {}, (box.get("units") or {}).get("floor-firewall.service")
    if unit is None:
        return []
    found = []
    if not live.get("loaded"):
        found.append(f"{name}: the firewall is not loaded, anybody may reach its engines; run floor deploy")
    elif live.get("same") is False:
        found.append(f"{name}: somebody has changed the rules of table inet floor; floor deploy loads them again")
    came = live.get("direct") or []
    if came:
        told = ", ".join(f"{one['address']} ({one['connections']})" for one in came[:NAMED])
        more = f" and {len(came) - NAMED} more" if len(came) > NAMED else ""
        done = "kept off" if config.proxy.direct == "deny" else "let through"
        found.append(f"{name}: connections to its engines past the proxy, {done}: {told}{more}")
    return found


def _operations(boxes: Mapping[str, Told]) -> list[str]:
    """Each operation that is not done, once for all the boxes that tell the same of it."""
    found: dict[str, list[str]] = {}
    for name, box in boxes.items():
        if words := _operation(box.get("operation") or {}):
            found.setdefault(words, []).append(name)
    return [f"{', '.join(names)}: {words}" for words, names in found.items()]


def _operation(operation: Told) -> str:
    if not operation or operation["state"] == "done":
        return ""
    by = operation.get("by") or {}
    who, what = f"{by.get('user')}@{by.get('host')}", f"floor {operation['verb']}"
    since = f", begun {at}" if (at := began(by)) else ""
    if operation["abandoned"]:
        told = f"abandoned by {who}: {what}{since}"
    elif operation["live"]:
        return f"{who} is at work: {what}, operation {operation['epoch']}{since}"
    else:
        told = f"{what} of {who}{since}, {_ENDED.get(operation['state'], operation['state'])}"
    if operation["finish"] is None:
        return f"{told}; it has changed nothing, and its hold lapses within 90 s"
    back = BACK.get(operation["verb"], f", `floor {ABORT}` goes back to what was deployed before")
    return f"{told}; `{operation['finish']}` finishes it{back}"


BACK = {
    ABORT: "",
    SWITCH_BACK: "",
    SWAP_BACK: "",
    SWITCH: f", `floor {SWITCH_BACK}` goes back to the mode before",
    SWAP: f", `floor {SWAP_BACK}` goes back to the build before",
}
_ENDED = {"failed": "failed", "interrupted": "was interrupted", "aborted": "was aborted"}
