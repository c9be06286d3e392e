"""Copies to be started anew without any change of what they are: one at a time, each after the other serves."""

from __future__ import annotations

from collections.abc import Mapping

from floor.plan import lanes
from floor.plan.aim import Aim, Copy
from floor.plan.steps import Plan, Stage, Step, stage


def plan_restart(aim: Aim, before: Mapping[str, str]) -> Plan:
    """Given the aim and, for each backend to restart, the invocation id that it had, return what is left to do.

    A backend whose invocation id has changed since and whose unit is active is done.
    """
    stages: list[Stage] = []
    serving = {model: set(aim.serving(model)) for model in aim.config.models}
    for copy in aim.copies():
        if copy.backend not in before or copy.box not in aim.seen:
            continue
        alone = serving[copy.model] <= {copy.backend}
        lane = _lane(aim, copy, before[copy.backend], last=alone)
        outage = (copy.model,) if alone and any(step.call == "unit.stop" for step in lane) else ()
        stages += stage(f"restart {copy.backend}", lane, outage=outage)
        serving[copy.model].add(copy.backend)
    notes = tuple(f"left as it is: {why}" for why in aim.absent.values())
    return Plan(tuple(stages), notes)


def _lane(aim: Aim, copy: Copy, invocation: str, *, last: bool) -> list[Step]:
    unit = aim.seen[copy.box].unit(copy.unit.name)
    why = "asked for"
    enabled = unit.enabled == "enabled"
    if not unit.running:
        return [*lanes.bring_up(aim, copy, why, enabled=enabled), *lanes.let_in(aim, copy)]
    if unit.invocation == invocation:
        out = lanes.take_out(aim, copy, why, last=last)
        up = lanes.bring_up(aim, copy, why, enabled=enabled)
        return [*out, *lanes.bring_down(copy, why), *up, *lanes.let_in(aim, copy)]
    if unit.active != "active":
        return [lanes.wait_warm(copy), *lanes.let_in(aim, copy)]
    drained = any(
        drains and not lanes.held(drains) for proxy in aim.proxies for drains in [proxy.drains.get(copy.backend, ())]
    )
    return lanes.let_in(aim, copy) if drained else []
