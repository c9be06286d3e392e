"""All that a planner needs to know of this box."""

from __future__ import annotations

from typing import Any

from floor.agent.call import Call
from floor.box import observe as box


def observe(call: Call) -> dict[str, Any]:
    """{units: {name: {env: [keys]}}, files, images, paths, read, weights} → the observation."""
    params = call.params
    asked: dict[str, Any] = {"units": params.mapping("units")}
    for name in ("files", "images", "paths", "read", "weights"):
        asked[name] = params.texts(name) if name in params.values else []
    return box.read(asked, call.root, call.run)
