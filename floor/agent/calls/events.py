"""What was done on this box and why, for people."""

from __future__ import annotations

from typing import Any

from floor.agent.call import Call
from floor.box import events


def append(call: Call) -> dict[str, Any]:
    """{epoch|null, text, data, who} → {}. An operation's event carries its epoch; events never change what happens."""
    params = call.params
    epoch = params.maybe_whole("epoch")
    record = call.operation.renew(epoch) if epoch is not None else None
    by = record["by"] if record else {}
    who = params.maybe_text("who") or (f"{by['user']}@{by['host']}" if by.get("user") else "floor")
    events.append(who, params.text("text"), params.mapping("data"), at=call.wall(), root=call.root)
    return {}


def read(call: Call) -> list[dict[str, Any]]:
    """{lines} → the newest events, the last one at the end."""
    return events.read(call.params.whole("lines"), call.root)
