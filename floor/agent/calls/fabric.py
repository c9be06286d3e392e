"""What the boxes of a split model must have alike, and whether they reach each other on their link."""

from __future__ import annotations

from typing import Any

from floor.agent.call import Call
from floor.box import build, command
from floor.box import fabric as box

LONGEST = 60.0  # seconds of a meeting


def look(call: Call) -> dict[str, Any]:
    """{interface, source, command: [words]|null, distribution} → {link, devices, version, weights}. Reads only."""
    params = call.params
    words = params.words("command") if params.values.get("command") is not None else None
    return {
        "link": box.link(params.text("interface"), call.root),
        "devices": box.devices(call.root),
        "version": build.version(words, params.text("distribution"), _patiently) if words else None,
        "weights": build.weights(params.text("source"), call.root),
    }


def _patiently(argv: Any) -> command.Result:
    return command.run(argv, timeout=build.SECONDS)


def meet(call: Call) -> dict[str, Any]:
    """{address, ports, peers, seconds} → {reached, heard, held}: see floor.box.fabric.meet. All boxes are asked at
    once; each listens and connects, and nothing is left afterwards."""
    params = call.params
    seconds = min(LONGEST, params.number("seconds", 10.0))
    return box.meet(params.text("address"), params.ports("ports"), params.texts("peers"), seconds, call.clock)
