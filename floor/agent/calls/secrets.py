"""Keys of this box. They pass through the caller's memory only, never through an argv or a log."""

from __future__ import annotations

from typing import Any

from floor.agent.call import Call
from floor.box import clients, secrets
from floor.box.locked import mine
from floor.errors import FloorError


def ensure(call: Call) -> dict[str, Any]:
    """{epoch} → {engine, status, next: {…}}: made now if this box has none."""
    with call.work():
        return dict(secrets.ensure(call.root, owner=mine()))


def put(call: Call) -> dict[str, Any]:
    """{epoch, engine, status, next} → {fingerprint}."""
    engine, status = call.params.text("engine"), call.params.text("status")
    following = call.params.mapping("next")
    with call.work():
        secrets.put(engine, status, call.root, mine(), following)
    return {"fingerprint": secrets.fingerprint({"engine": engine, "status": status, "next": following})}


def begin(call: Call) -> dict[str, Any]:
    """{epoch, kind: engine|status} → {}: the key that is to follow is there; the present one stays valid."""
    kind = call.params.text("kind")
    with call.work():
        secrets.begin(kind, call.root, owner=mine())
    return {}


def promote(call: Call) -> dict[str, Any]:
    """{epoch} → {}: the keys that follow are the only ones."""
    with call.work():
        secrets.promote(call.root, mine())
    return {}


def show(call: Call) -> dict[str, Any]:
    """{name} → {keys}: those of a client, or of `engine` or `status`; the newest first."""
    name = call.params.text("name")
    own = name in secrets.KINDS
    found = secrets.accepted(name, call.root)[::-1] if own else clients.read(call.root).get(name, [])
    if not found:
        raise FloorError(f"{name}: has no key here yet; floor deploy makes it")
    return {"keys": found}
