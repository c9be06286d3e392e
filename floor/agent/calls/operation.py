"""The epoch of an operation: taken, kept, given back."""

from __future__ import annotations

from typing import Any

from floor.agent.call import Call


def take(call: Call) -> dict[str, Any]:
    """{epoch, verb, target, config, by, takeover, lease, passing: bool} → the record."""
    params = call.params
    by = params.mapping("by")
    wanted = {
        "epoch": params.whole("epoch", 1),
        "verb": params.text("verb"),
        "target": params.values.get("target"),
        "config": params.maybe_text("config"),
        "by": {key: by.get(key) for key in ("user", "host", "pid", "started")},
        "takeover": params.maybe_whole("takeover"),
        "lease": params.number("lease", 0) or None,
        "passing": params.flag("passing"),
    }
    return call.operation.take(wanted)


def renew(call: Call) -> dict[str, Any]:
    """{epoch} → the record."""
    return call.operation.renew(call.params.whole("epoch", 1))


def release(call: Call) -> dict[str, Any]:
    """{epoch, state} → the record."""
    return call.operation.release(call.params.whole("epoch", 1), call.params.text("state"))
