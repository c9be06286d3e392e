"""Memory that what comes next needs."""

from __future__ import annotations

from typing import Any

from floor.agent.call import Call
from floor.box import memory
from floor.errors import UsageError


def wait(call: Call) -> dict[str, Any]:
    """{fraction|null, bytes|null, timeout, epoch} → {fits, available, needed, total}.

    What this box does not tell is null, and then it is said to fit: the engine itself will find out.
    """
    params = call.params
    fraction, size = params.values.get("fraction"), params.maybe_whole("bytes")
    if fraction is not None and not 0 < params.number("fraction", 0) <= 1:
        raise UsageError(f"memory.wait: parameter fraction: must be above 0 and at most 1, found {fraction!r}")
    if params.maybe_whole("epoch") is not None:
        call.operation.renew(params.whole("epoch", 1))
    return dict(call.until(lambda: judge(memory.read(call.root), fraction, size)))


def judge(seen: memory.Memory, fraction: float | None, size: int | None) -> tuple[bool, dict[str, Any]]:
    """Given the box's memory and what is asked for (a share of the whole, or bytes), say whether it fits now."""
    needed = size
    if needed is None and fraction is not None and seen.total is not None:
        needed = int(seen.total * fraction)
    fits = needed is None or seen.available is None or needed <= seen.available
    return fits, {"fits": fits, "available": seen.available, "needed": needed, "total": seen.total}
