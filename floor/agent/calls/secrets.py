"""Keys of this box. They pass through the caller's memory only, never through an argv or a log."""

from __future__ import annotations

from typing import Any

from floor.agent.call import Call
from floor.box import secrets
from floor.box.locked import mine


def ensure(call: Call) -> dict[str, Any]:
    """{epoch} → {engine, status}: made now if this box has none."""
    with call.work():
        return dict(secrets.ensure(call.root, owner=mine()))


def put(call: Call) -> dict[str, Any]:
    """{epoch, engine, status} → {fingerprint}."""
    engine, status = call.params.text("engine"), call.params.text("status")
    with call.work():
        secrets.put(engine, status, call.root, owner=mine())
    return {"fingerprint": secrets.fingerprint({"engine": engine, "status": status})}
