"""What the boxes are for now: a copy on each, or one model over several."""

from __future__ import annotations

from typing import Any

from floor.agent.call import Call
from floor.agent.calls.unit import gone
from floor.box import files, paths
from floor.box.locked import mine
from floor.errors import FloorError


def put(call: Call) -> dict[str, Any]:
    """{epoch, mode, down: [units]} → {}. Raises FloorError, with the old mode kept, where one of `down` is not: what
    runs in the old mode and what is started in the new one would meet in memory."""
    mode, down = call.params.text("mode"), call.params.texts("down")
    with call.work():
        for name in down:
            stopped, found = gone(call, name)
            if not stopped:
                left = ", ".join(str(one) for one in found["left"]) or found["active"]
                raise FloorError(f"{name} runs again ({left}), so the mode stays; run the same command again")
        files.write(paths.MODE, f"{mode}\n", owner=mine(), root=call.root)
    return {}
