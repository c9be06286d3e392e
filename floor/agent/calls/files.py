"""Files that floor owns on this box."""

from __future__ import annotations

from typing import Any

from floor.agent.call import Call
from floor.box import files


def put(call: Call) -> dict[str, Any]:
    """{epoch, files: [{path, text, mode, owner}]} → {changed: [paths]}."""
    wanted = call.params.files("files")
    with call.work():
        return {"changed": files.put(wanted, call.root)}


def remove(call: Call) -> dict[str, Any]:
    """{epoch, paths} → {changed: [paths]}."""
    gone = call.params.texts("paths")
    with call.work():
        return {"changed": files.remove(gone, call.wall, call.root)}
