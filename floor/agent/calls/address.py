"""The address that the proxies share: who else has it."""

from __future__ import annotations

from typing import Any

from floor.agent.call import Call
from floor.box import address


def look(call: Call) -> dict[str, Any]:
    """{address, interface, peers: addresses of the other proxy boxes} → {strangers: hardware addresses}."""
    params = call.params
    return {"strangers": address.strangers(params.text("address"), params.text("interface"), params.texts("peers"))}
