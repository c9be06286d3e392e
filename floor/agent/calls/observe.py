"""All that a planner needs to know of this box."""

from __future__ import annotations

from typing import Any

from floor.agent.call import Call
from floor.box import observe as box


def observe(call: Call) -> dict[str, Any]:
    """{units: {name: {env: [keys]}}, files, images, paths, read, weights, toward, tls, firewalls} → the observation."""
    params = call.params
    asked: dict[str, Any] = {"units": params.mapping("units")}
    for name in ("files", "images", "paths", "read", "weights", "toward", "tls"):
        asked[name] = params.texts(name) if name in params.values else []
    asked["firewalls"] = params.flag("firewalls")
    return box.read(asked, call.root, call.run)
