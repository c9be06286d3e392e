"""Copies that are no longer wanted: out of the pools, finished, stopped, gone; only after the new ones serve."""

from __future__ import annotations

from floor.desired.copies import settings_path
from floor.plan import difference, lanes
from floor.plan.aim import Aim, Copy, check_params
from floor.plan.files import file_steps, is_unit, reload_units
from floor.plan.serving import Serving
from floor.plan.steps import Stage, Step, stage


def retired(aim: Aim) -> list[Copy]:
    """Given the aim, return the copies that have a unit on a box and are not wanted there."""
    found = []
    for box in aim.seen:
        wanted = {unit.name for unit in aim.wanted[box].units}
        found += [copy for copy in present(aim, box) if copy.unit not in wanted]
    return found


def present(aim: Aim, box: str) -> list[Copy]:
    """Given a box that answers, return the copies of which anything is there: files or a unit, wanted or not."""
    seen = aim.seen[box]
    names = {name for path in seen.owned if (name := difference.belongs_to(path))}
    names |= {name for name in seen.units if name.startswith(difference.COPY_PREFIX)}
    return [_copy(aim, box, name) for name in sorted(names)]


def plan_retirements(aim: Aim, serving: Serving) -> list[Stage]:
    """Given the aim, return one stage for each copy that is there and not wanted.

    The last one of a model may go only where its stage says so: also because floor.yaml no longer has the model.
    """
    stages: list[Stage] = []
    for copy in retired(aim):
        last = serving.only(copy.model, {copy.backend})
        why = f"floor.yaml no longer has {copy.backend}"
        lane = [*lanes.take_away(aim, copy, why, last=last), *_files(aim, copy)]
        stops = any(step.call == "unit.stop" for step in lane)
        stages += stage(f"retire {copy.backend}", lane, outage=(copy.model,) if last and stops else ())
        serving.leaves(copy.model, {copy.backend})
    return stages


def _files(aim: Aim, copy: Copy) -> list[Step]:
    found = aim.differing(copy.box, copy.unit)
    steps = file_steps(copy.box, found)
    return [*steps, reload_units(copy.box)] if any(is_unit(each.path) for each in found) else steps


def _copy(aim: Aim, box: str, unit: str) -> Copy:
    model = unit.removeprefix(difference.COPY_PREFIX).removesuffix(".service")
    # The longest of all models: floor.yaml may no longer say how long a request of this one may take.
    longest = max((found.request_time for found in aim.config.models.values()), default=0.0)
    known = aim.config.models.get(model)
    return Copy(
        backend=f"{model}@{box}",
        model=model,
        box=box,
        unit=unit,
        request_time=known.request_time if known else longest,
        check=check_params(aim.seen[box].texts.get(settings_path(model))),
    )
