"""Copies that the guard keeps down, where a plan would start them: refused, or the hold ends first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from floor.box import paths
from floor.box.holds import Hold
from floor.guard import lift
from floor.plan.aim import Aim, Part
from floor.plan.steps import Plan, Stage, Step, abreast, beside
from floor.sizes import gib

START, RELEASE, PUT = "unit.start", "guard.release", "files.put"


def opened(aim: Aim, plan: Plan, *, force: bool) -> Plan:
    """Given the aim and a plan, return the plan with a step before each start of a copy whose hold may end: where there
    is room for it again, or anyway with `force`. For the others it gets a note."""
    notes = [
        f"{part.resolved.backend} is kept down by the guard on {part.box}, so this is refused without --force"
        for _, part, hold in _held(aim, plan)
        if not (force or _room(aim, part, hold))
    ]
    ends = {
        id(step): Step(
            part.box,
            RELEASE,
            {"unit": part.unit},
            f"end the guard's hold of {part.resolved.backend}",
            "--force" if force else _room(aim, part, hold),
        )
        for step, part, hold in _held(aim, plan)
        if force or _room(aim, part, hold)
    }
    if not (ends or notes):
        return plan
    return replace(plan, stages=tuple(_with(stage, ends) for stage in plan.stages), notes=(*plan.notes, *notes))


def refusals(aim: Aim, plan: Plan) -> list[str]:
    """Given the aim and a plan that `opened` has seen, return a line for each copy that it would start although the
    guard keeps it down."""
    ended = {(step.box, step.params["unit"]) for step in _steps(plan) if step.call == RELEASE}
    return [
        f"{part.box}: {part.resolved.backend}: {hold.words}; see `floor guard status`, or start it all the same with "
        "--force"
        for _, part, hold in _held(aim, plan)
        if (part.box, part.unit) not in ended
    ]


def kept_down(aim: Aim, part: Part, *, changes: bool = False) -> Hold | None:
    """Given the aim and a part of a copy or group, return the hold that forbids its start, None where none does.

    It forbids the launch that was taken down: that of the unit's file as it lies there, or as wanted if it `changes`.
    """
    seen = aim.seen[part.box]
    hold = seen.holds.get(part.unit)
    launch = part.state.launch.digest if changes else seen.installed.get(part.unit, "")
    return None if hold is None or not hold.forbids(launch) else hold


def _held(aim: Aim, plan: Plan) -> list[tuple[Step, Part, Hold]]:
    """Every start of a plan that a hold forbids."""
    parts = {(part.box, part.unit): part for copy in (*aim.copies, *aim.sleeping) for part in copy.parts}
    found, put = [], set()
    for step in _steps(plan):
        put |= {(step.box, file["path"]) for file in step.params["files"]} if step.call == PUT else set()
        part = parts.get((step.box, str(step.params.get("unit")))) if step.call == START else None
        if part and (hold := kept_down(aim, part, changes=(part.box, str(paths.UNITS / part.unit)) in put)):
            found.append((step, part, hold))
    return found


def _room(aim: Aim, part: Part, hold: Hold) -> str:
    """Why a hold may end now, empty where it must not."""
    available = (aim.seen[part.box].facts.get("memory") or {}).get("available")
    fits = not hold.lasting and lift.room(hold, available, aim.config.boxes[part.box].keep_free)
    if available is None or not fits:
        return ""
    return f"there is room for it again: {gib(available)} are available"


def _steps(plan: Plan) -> list[Step]:
    return [step for stage in plan.stages for step in stage.steps]


def _with(stage: Stage, ends: dict[int, Step]) -> Stage:
    return replace(stage, lanes=tuple(_before(lane, ends) for lane in stage.lanes))


def _before(lane: Sequence[Step], ends: dict[int, Step]) -> tuple[Step, ...]:
    """A lane in which every hold that ends is gone before the first of the steps begins that run side by side."""
    found: list[Step] = []
    for group in abreast(lane):
        if first := [ends[id(step)] for step in group if id(step) in ends]:
            found += [*beside(first), replace(group[0], beside=False), *group[1:]]
        else:
            found += group
    return tuple(found)
