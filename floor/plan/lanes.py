"""The lanes that every verb is made of: take a copy out of the pools, bring it down, bring it up, let it in again."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from floor.box.drains import Drain
from floor.plan import gate, holders
from floor.plan.aim import Aim, Copy, Part, Wanted
from floor.plan.seen import Seen
from floor.plan.steps import Late, Step, Until, beside

POOL_SECONDS = 30.0  # a pool ticks twice a second; a reload of nginx takes well under a second
STOP_SECONDS = 60.0  # an engine that has nothing left to do and is still there after this is killed
LOOKS = 2  # in a row that find an engine idle: between two nginx may hand over a request
MEMORY_SECONDS = 120.0  # memory of a stopped engine comes back within seconds to minutes (minefield 81)
START_SLACK = 60.0  # beyond the unit's own TimeoutStartSec


def take_out(aim: Aim, copy: Copy, why: str, *, last: bool, proxies: Sequence[Seen] | None = None) -> list[Step]:
    """Drain `copy` on every proxy box that knows it (or on `proxies`), and wait until no request is left on it.

    `last` allows it even where no other member is left. A copy that is up is waited for in any case: a proxy box that
    does not answer may have sent it something.
    """
    drain = {"backend": copy.backend, "holder": aim.holder, "last": last}
    boxes = [proxy.box for proxy in (aim.knows(copy) if proxies is None else proxies)]
    steps = [
        *beside([Step(box, "drain.add", drain, f"drain {copy.backend}", why) for box in boxes]),
        *beside([in_pool(box, copy, member=False) for box in boxes]),
    ]
    if copy.check and (steps or aim.seen[copy.box].unit(copy.unit).active == "active"):
        idle, asked = Until("idle", copy.request_time, late="go on"), {**copy.check, "looks": LOOKS}
        steps.append(Step(copy.box, "engine.idle", asked, f"wait until {copy.backend} has finished", until=idle))
    return steps


def bring_down(copy: Copy, why: str) -> list[Step]:
    """Stop the units of `copy`; done only when no process of them is left."""
    stopped, text = Until("stopped", STOP_SECONDS, late="kill"), f"stop {copy.backend}"
    if len(copy.places) == 1:
        return [Step(copy.box, "unit.stop", {"unit": copy.unit}, text, why, stopped)]
    # All parts of a group are told before any is waited for: without its head a rank takes long to obey.
    told = [Step(box, "unit.stop", {"unit": unit, "timeout": 0.0}, text, why) for box, unit in copy.places]
    gone = f"wait until {copy.backend} is gone"
    waits = [Step(box, "unit.stop", {"unit": unit}, gone, until=stopped) for box, unit in copy.places]
    return [*beside(told), *beside(waits)]


def take_away(aim: Aim, copy: Copy, why: str, *, last: bool) -> list[Step]:
    """Take `copy` out of the pools and stop it for good: it does not start again with the box."""
    unit = aim.seen[copy.box].unit(copy.unit)
    if not unit.running and unit.enabled != "enabled":
        return []
    out = take_out(aim, copy, why, last=last) if unit.running else []
    disable = Step(copy.box, "unit.disable", {"unit": copy.unit}, f"disable {copy.unit}", why)
    return [*out, disable, *bring_down(copy, why)]


def bring_up(aim: Aim, copy: Wanted, why: str, parts: Sequence[Part] | None = None) -> list[Step]:
    """Wait for memory on every box of `copy`, start its units (or those of `parts`), wait until it is warm."""
    starting = copy.parts if parts is None else parts
    memory = [memory for part in starting if (memory := _memory(part))]
    enables = [step for part in starting for step in enable(aim, part)]
    starts = [Step(part.box, "unit.start", {"unit": part.unit}, f"start {copy.backend}", why) for part in starting]
    return [*beside(memory), *beside(enables), *beside(starts), *wait_warm(copy)]


def enable(aim: Aim, part: Part) -> list[Step]:
    """Let a unit start with its box, where it does not yet."""
    if aim.seen[part.box].unit(part.unit).enabled == "enabled":
        return []
    return [Step(part.box, "unit.enable", {"unit": part.unit}, f"enable {part.unit}")]


def wait_warm(copy: Wanted) -> list[Step]:
    """Wait until the units of `copy` are active, its head's last: that is when its warm-up has ended."""
    warm = Until("active", copy.resolved.start_time + START_SLACK, value="active", crashed=True)
    text = f"wait until {copy.backend} is warm"
    return [
        Step(box, "unit.wait", {"unit": unit, "until": "active"}, text, until=warm)
        for box, unit in reversed(copy.places)
    ]


def let_in(aim: Aim, copy: Copy) -> list[Step]:
    """End what this operation, and the absence of the box, hold against `copy`, and wait until each pool has it.

    Where a person holds it out, or a test that is not over, it stays out.
    """
    steps, waits = [], []
    for proxy in aim.proxies:
        for box in sorted({box for box, _ in copy.places if _held_for(proxy.drained(copy.backend), box)}):
            params = {"backend": copy.backend, "holder": holders.absent(box), "outlives": True}
            why = f"{box} answers and is as wanted"
            steps.append(Step(proxy.box, "drain.remove", params, f"{copy.backend} may come back", why))
        for holder in gate.openings(aim, copy, proxy.drained(copy.backend)):
            params = {"backend": copy.backend, "holder": holder, "outlives": True}
            steps.append(
                Step(proxy.box, "drain.remove", params, f"{copy.backend} may come back", "no test stands against it")
            )
        drain = {"backend": copy.backend, "holder": aim.holder}
        steps.append(Step(proxy.box, "drain.remove", drain, f"readmit {copy.backend}"))
        if not gate.stays_out(aim, copy, proxy.drained(copy.backend)):
            waits.append(in_pool(proxy.box, copy, member=True))
    return [*beside(steps), *beside(waits)]


def rejoin(aim: Aim, copy: Copy, *, awaited: Collection[Seen]) -> list[Step]:
    """What a warm copy that is as wanted still needs to serve; nothing in most cases.

    One that an operation or an absence holds out is let in. The pools of the proxy boxes `awaited` must have it before
    others go, also where it only has to come by itself, or where they are told of it just before.
    """
    drains = [drain for proxy in aim.proxies for drain in proxy.drained(copy.backend)]
    if any(drain.epoch is not None or _absence(drain, copy) for drain in drains) or gate.openings(aim, copy, drains):
        return let_in(aim, copy)
    return beside([in_pool(proxy.box, copy, member=True) for proxy in awaited if _comes(proxy, copy)])


def _absence(drain: Drain, copy: Copy) -> bool:
    """Whether `copy` is held out because a box of its did not answer once."""
    return any(_held_for([drain], box) for box, _ in copy.places)


def _held_for(drains: Collection[Drain], box: str) -> bool:
    return any(drain.epoch is None and drain.holder == holders.absent(box) for drain in drains)


def _comes(proxy: Seen, copy: Copy) -> bool:
    """Whether `copy` is not in the pool of `proxy` and nobody holds it out."""
    return copy.backend not in proxy.serving(copy.model) and not proxy.drained(copy.backend)


def in_pool(box: str, copy: Copy, *, member: bool, late: Late = "fail") -> Step:
    """Wait until the pool of a box has `copy`, or has let go of it."""
    params = {"model": copy.model, "backend": copy.backend, "member": member}
    text = f"wait until {copy.backend} is {'in' if member else 'out of'} {box}'s pool"
    return Step(box, "pool.wait", params, text, until=Until("reached", POOL_SECONDS, late=late))


def _memory(part: Part) -> Step | None:
    share, size = part.resolved.utilization, part.resolved.cache_memory
    if share is None and size is None:
        return None
    params = {"fraction": share, "bytes": None if share else size}
    # No engine of floor's is left there by then: what holds memory is somebody else's, or was leaked in the kernel.
    advice = f"see what holds memory there, or reboot {part.box}"
    fits = Until("fits", MEMORY_SECONDS, advice=advice)
    return Step(part.box, "memory.wait", params, f"wait until {part.resolved.backend} fits in memory", until=fits)
