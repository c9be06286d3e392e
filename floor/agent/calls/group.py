"""A part of a group that a deployment takes away."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from floor.agent.call import Call
from floor.box import parts


def leave(call: Call) -> dict[str, Any]:
    """{epoch, model, leaves: bool} → {}: whether the present start of the part here goes.

    Then nobody ends it for the silence of others, whose status ports and rules change first. A part that never came to
    its gate has nothing to end.
    """
    model, leaves = call.params.text("model"), call.params.flag("leaves")
    with call.work():
        mark = parts.get(model, call.root)
        if mark is not None and mark.leaves != leaves:
            parts.put(model, replace(mark, leaves=leaves), call.root)
    return {}
