"""What somebody else runs on this box: found, and where a person said so, taken over."""

from __future__ import annotations

from typing import Any

from floor.agent.call import Call
from floor.box.foreign import take
from floor.box.foreign.look import look as look_at
from floor.errors import UsageError

KINDS = ("unit", "container", "cron", "process")


def look(call: Call) -> dict[str, Any]:
    """{ports: [the ports that floor wants here]} → processes, containers, units, cron: see floor.box.foreign.look."""
    ports = call.params.values.get("ports") or []
    if not isinstance(ports, list) or not all(isinstance(port, int) for port in ports):
        raise UsageError("foreign.look: parameter ports: must be a list of ports")
    return look_at(ports, call.root, call.run)


def disable(call: Call) -> dict[str, Any]:
    """{epoch, kind, name, key} → {}: recorded, and does not start by itself any more; what runs goes on."""
    with call.work():
        take.disable(_thing(call), call.root, call.run)
    return {}


def stop(call: Call) -> dict[str, Any]:
    """{epoch, kind, name, key, timeout} → {stopped, left}: recorded, disabled, and nothing of it runs any more."""
    thing = _thing(call)
    with call.work():
        take.stop(thing, call.root, call.run)
        return dict(call.until(lambda: _gone(call, thing)))


def kill(call: Call) -> dict[str, Any]:
    """{epoch, kind, name, key} → {left}: ends all of it at once."""
    thing = _thing(call)
    with call.work():
        take.stop(thing, call.root, call.run, kill=True)
    return {"left": _gone(call, thing)[1]["left"]}


def _gone(call: Call, thing: dict[str, Any]) -> tuple[bool, dict[str, Any]]:
    there = take.running(thing, call.root, call.run)
    return not there, {"stopped": not there, "left": [f"{thing['kind']} {thing['name']}"] if there else []}


def _thing(call: Call) -> dict[str, Any]:
    kind, name = call.params.text("kind"), call.params.text("name")
    ours = kind in ("unit", "container") and (name.startswith("floor-") or name == "floor.target")
    if kind not in KINDS or ours or name.startswith("-"):
        raise UsageError(f"{call.params.call}: {kind} {name!r}: is nothing that floor could take over")
    return {"kind": kind, "name": name, "key": call.params.maybe_text("key")}
