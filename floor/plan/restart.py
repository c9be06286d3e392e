"""Copies to be started anew without any change of what they are: one at a time, each after the other serves."""

from __future__ import annotations

from collections.abc import Mapping

from floor.plan import lanes
from floor.plan.aim import Aim, Wanted
from floor.plan.serving import Serving
from floor.plan.steps import Plan, Stage, Step, stage


def plan_restart(aim: Aim, before: Mapping[str, str]) -> Plan:
    """Given the aim and, for each backend to restart, the invocation id that it had, return what is left to do.

    A backend whose invocation id has changed since and whose unit is active is done. Those that are out of the pools
    go first: they take nothing away.
    """
    stages: list[Stage] = []
    serving = Serving(aim)
    copies = [copy for copy in aim.copies if copy.backend in before]
    awaited = {copy.model for copy in copies if not restarted(aim, copy, before[copy.backend])}
    for copy in sorted(copies, key=lambda copy: serving.everywhere(copy.model, copy.backend)):
        last = serving.only(copy.model, {copy.backend})
        lane = _lane(aim, copy, before[copy.backend], last=last, awaited=copy.model in awaited)
        stops = any(step.call == "unit.stop" for step in lane)
        stages += stage(f"restart {copy.backend}", lane, outage=(copy.model,) if last and stops else ())
        if lane:
            serving.joins(copy)
    return Plan(tuple(stages), tuple(f"left as it is: {why}" for why in aim.absent.values()))


def restarted(aim: Aim, copy: Wanted, invocation: str) -> bool:
    """Whether `copy` runs, and under another invocation id than it had."""
    unit = aim.seen[copy.box].unit(copy.unit)
    return unit.running and unit.invocation != invocation


def _lane(aim: Aim, copy: Wanted, invocation: str, *, last: bool, awaited: bool) -> list[Step]:
    why = "asked for"
    if not aim.running(copy):
        return [*lanes.bring_up(aim, copy, why), *lanes.let_in(aim, copy)]
    if not restarted(aim, copy, invocation):
        out = lanes.take_out(aim, copy, why, last=last)
        up = lanes.bring_up(aim, copy, why)
        return [*out, *lanes.bring_down(copy, why), *up, *lanes.let_in(aim, copy)]
    if not aim.active(copy):
        return [*lanes.wait_warm(copy), *lanes.let_in(aim, copy)]
    return lanes.rejoin(aim, copy, awaited=aim.knows(copy) if awaited else ())
