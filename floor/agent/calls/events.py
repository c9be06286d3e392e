"""What was done on this box and why, for people."""

from __future__ import annotations

from typing import Any

from floor.agent.call import Call
from floor.box import events


def read(call: Call) -> list[dict[str, Any]]:
    """{lines} → the newest events, the last one at the end."""
    return events.read(call.params.whole("lines"), call.root)
