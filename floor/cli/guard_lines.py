"""What `floor guard` prints, a line for each thing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from floor.operations.guard_state import BoxAdvice
from floor.plan.outage import duration
from floor.sizes import gib

RUNS = ("active", "activating", "reloading")
STALE = 60.0  # seconds; it asks four times a minute
OLD = 30.0  # seconds; a guard reports every five


def status_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """Given what operations.guard.status returns, yield the lines."""
    for box, one in found.items():
        if "error" in one:
            yield f"{box}: {one['error']}"
            continue
        state = one["state"]
        if state is None:
            yield f"{box}: no guard has reported"
        else:
            yield f"{box}: {_memory(state)}"
            yield from _silence(one)
            for engine in state["engines"]:
                yield f"  {engine['unit']}: {gib(engine['memory'])}{', starting' if engine['starting'] else ''}"
            yield from _asked(state)
        for unit, hold in one["holds"].items():
            lasts = "until `floor guard release`" if hold["lasting"] else "until there is room for it"
            yield f"  ! {unit} is kept down, {lasts}: {hold['reason']}"


def _silence(one: Mapping[str, Any]) -> Iterator[str]:
    """Why the report is not of now."""
    age, runs = one["age"] or 0.0, one.get("unit")
    ago = f"all of this is as it was {duration(age)} ago"
    if runs not in (None, *RUNS):
        yield f"  ! floor-guard.service is {runs}: nobody watches the memory of this box; {ago}; run `floor deploy`"
    elif age > OLD:
        yield f"  ! the guard does not report: {ago}; see `systemctl status floor-guard`"


def _asked(state: Mapping[str, Any]) -> Iterator[str]:
    """How old what engines hold is, where that is not of now."""
    asked = state.get("asked", 0.0)  # the report of an older release does not say
    if asked is None or asked > STALE:
        known = "is not known yet" if asked is None else f"is as it was {duration(asked)} ago"
        who = "systemd, docker or the driver gives no answer"
        yield f"  ! what engines hold {known}: {who}; see `journalctl -u floor-guard` there"


def advice_lines(found: Sequence[BoxAdvice]) -> Iterator[str]:
    """Given the advice for boxes, yield the lines."""
    for box in found:
        left = "" if box.leaves is None else f"; the shares of now leave {box.leaves:.1f} GiB"
        yield f"{box.box}: {box.why}{left}"
        for one in box.advice:
            cache = "" if one.cache is None else f", cache_memory {gib(one.cache)}"
            yield f"  {one.backend}: utilization {one.utilization:.2f}{cache}: {one.text}"


def _memory(state: Mapping[str, Any]) -> str:
    full = "" if state["full"] is None else f", pressure {state['full']:.0f} %"
    others = state["others"]
    usual = "not known yet" if others is None else f"{gib(others['p95'])}, {gib(others['most'])} at most"
    return (
        f"{gib(state['available'])} of {gib(state['total'])} available{full}; {state['mode']} below "
        f"{gib(state['floor'])}; others take {usual}"
    )
