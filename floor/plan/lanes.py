"""The lanes that every verb is made of: take a copy out of the pools, bring it down, bring it up, let it in again."""

from __future__ import annotations

from collections.abc import Iterable

from floor.plan.aim import Aim, Copy
from floor.plan.steps import Step, Until

POOL_SECONDS = 30.0  # a pool ticks twice a second; a reload of nginx takes well under a second
STOP_SECONDS = 60.0  # an engine that has nothing left to do and is still there after this is killed
KILLED_SECONDS = 30.0
MEMORY_SECONDS = 120.0  # memory of a stopped engine comes back within seconds to minutes (minefield 81)
START_SLACK = 60.0  # beyond the unit's own TimeoutStartSec


def take_out(aim: Aim, copy: Copy, why: str, *, last: bool) -> list[Step]:
    """Drain `copy` on every proxy box that knows it, and wait until no request is left on it.

    `last` allows it even where no other member is left.
    """
    steps = []
    for proxy in aim.knows(copy.backend, copy.model):
        drain = {"backend": copy.backend, "holder": aim.holder, "last": last}
        steps.append(Step(proxy.box, "drain.add", drain, f"drain {copy.backend}", why))
        steps.append(_pool(proxy.box, copy, member=False))
    if steps:
        idle = Until("idle", copy.request_time, times=2, late="go on")
        steps.append(Step(copy.box, "engine.idle", copy.check, f"wait until {copy.backend} has finished", until=idle))
    return steps


def bring_down(copy: Copy, why: str) -> list[Step]:
    """Stop the unit of `copy`; done only when no process of it is left."""
    stop = {"unit": copy.unit.name}
    return [
        Step(copy.box, "unit.stop", stop, f"stop {copy.backend}", why, Until("stopped", STOP_SECONDS, late="kill")),
    ]


def bring_up(aim: Aim, copy: Copy, why: str, *, enabled: bool) -> list[Step]:
    """Wait for memory, start the unit of `copy`, wait until it is warm."""
    unit = {"unit": copy.unit.name}
    steps = [memory] if (memory := _memory(aim, copy)) else []
    if not enabled:
        steps.append(Step(copy.box, "unit.enable", unit, f"enable {copy.unit.name}"))
    steps.append(Step(copy.box, "unit.start", unit, f"start {copy.backend}", why))
    steps.append(wait_warm(copy))
    return steps


def wait_warm(copy: Copy) -> Step:
    """Wait until the unit of `copy` is active, which is when its warm-up has ended."""
    warm = Until("active", copy.start_time + START_SLACK, value="active", crashed=True)
    params = {"unit": copy.unit.name, "until": "active"}
    return Step(copy.box, "unit.wait", params, f"wait until {copy.backend} is warm", until=warm)


def let_in(aim: Aim, copy: Copy) -> list[Step]:
    """Undrain `copy` on every reachable proxy box and wait until each pool has it."""
    steps = []
    for proxy in aim.proxies:
        drain = {"backend": copy.backend, "holder": aim.holder}
        steps.append(Step(proxy.box, "drain.remove", drain, f"readmit {copy.backend}"))
        if not held(proxy.drains.get(copy.backend, ())):
            steps.append(_pool(proxy.box, copy, member=True))
    return steps


def held(drains: Iterable[object]) -> bool:
    """Whether somebody holds a drain by hand: such a one outlives operations, and only that person ends it."""
    return any(isinstance(drain, dict) and drain.get("epoch") is None for drain in drains)


def _pool(box: str, copy: Copy, *, member: bool) -> Step:
    params = {"model": copy.model, "backend": copy.backend, "member": member}
    text = f"wait until {copy.backend} is {'in' if member else 'out of'} {box}'s pool"
    return Step(box, "pool.wait", params, text, until=Until("reached", POOL_SECONDS))


def _memory(aim: Aim, copy: Copy) -> Step | None:
    wanted = next(found for found in aim.config.copies(copy.model) if found.backend == copy.backend)
    if wanted.utilization is None and wanted.cache_memory is None:
        return None
    params = {"fraction": wanted.utilization, "bytes": None if wanted.utilization else wanted.cache_memory}
    return Step(
        copy.box,
        "memory.wait",
        params,
        f"wait until {copy.backend} fits in memory",
        until=Until("fits", MEMORY_SECONDS),
    )
