"""Client keys of this proxy box. They pass through the caller's memory only, never through an argv or a log."""

from __future__ import annotations

from typing import Any

from floor.agent.call import Call
from floor.box import clients
from floor.box.locked import mine


def ensure(call: Call) -> dict[str, Any]:
    """{epoch, names} → {}: just these clients have keys, new ones made now; with none, nobody has."""
    names = call.params.texts("names")
    with call.work():
        clients.named(names, call.root, owner=mine())
    return {}


def read(call: Call) -> dict[str, Any]:
    """{epoch} → {clients: {name: keys}}."""
    with call.work():
        return {"clients": clients.read(call.root)}


def put(call: Call) -> dict[str, Any]:
    """{epoch, clients: {name: keys}, missing: bool} → {}: keep just these; with `missing`, those of them that lack."""
    given, missing = call.params.mapping("clients"), call.params.flag("missing")
    with call.work():
        clients.put({**given, **clients.read(call.root)} if missing else given, call.root, mine())
    return {}


def rotate(call: Call) -> dict[str, Any]:
    """{epoch, name, seconds} → {made}: a new key beside the present one, which ends after so long, or by retire."""
    name, seconds = call.params.text("name"), call.params.maybe_whole("seconds")
    until = None if seconds is None else int(call.wall()) + seconds
    with call.work():
        return {"made": clients.rotate(name, call.root, owner=mine(), until=until)}


def retire(call: Call) -> dict[str, Any]:
    """{epoch, name} → {gone}: only the newest key is left."""
    name = call.params.text("name")
    with call.work():
        return {"gone": clients.retire(name, call.root, mine())}
