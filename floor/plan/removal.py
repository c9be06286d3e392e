"""A box that is to be left: its copies go out of the pools, finish and stop, and stay down."""

from __future__ import annotations

from floor.plan import lanes
from floor.plan.aim import Aim
from floor.plan.retire import present
from floor.plan.serving import Serving
from floor.plan.steps import Plan, Stage, stage


def plan_removal(aim: Aim, box: str) -> Plan:
    """Given the aim and a box, return what is left to do until no copy runs there; empty when none does, and for a
    box that does not answer.
    """
    if box not in aim.seen:
        return Plan()
    serving = Serving(aim)
    stages: list[Stage] = []
    for copy in present(aim, box):
        last = serving.only(copy.model, {copy.backend})
        lane = lanes.take_away(aim, copy, f"floor is removed from {box}", last=last)
        stages += stage(f"stop {copy.backend}", lane, outage=(copy.model,) if last and lane else ())
    return Plan(tuple(stages))
