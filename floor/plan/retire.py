"""Copies that are no longer wanted: out of the pools, finished, stopped, gone; only after the new ones serve."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from floor.desired import copies, groups
from floor.plan import difference, lanes
from floor.plan.aim import Aim, Copy, Wanted, check_params
from floor.plan.files import file_steps, is_unit, reload_units
from floor.plan.serving import Serving
from floor.plan.steps import Stage, Step, stage

ROUNDING = 1e-6  # of shares that are added up


def retired(aim: Aim) -> list[Copy]:
    """Given the aim, return the copies and parts of groups that have a unit on a box and are not wanted there."""
    found = []
    for box in aim.seen:
        wanted = {unit.name for unit in aim.wanted[box].units}
        found += [copy for copy in present(aim, box) if copy.unit not in wanted]
    return found


def present(aim: Aim, box: str) -> list[Copy]:
    """Given a box that answers, return the copies and parts of which anything is there: files or a unit, or both."""
    seen = aim.seen[box]
    names = {name for path in seen.owned if (name := difference.belongs_to(path))}
    names |= {name for name in seen.units if name.startswith(difference.ENGINE_PREFIXES)}
    return [_copy(aim, box, name) for name in sorted(names)]


def in_the_way(aim: Aim) -> dict[str, str]:
    """Given the aim, return the copies that cannot start beside one that is to go, each with the one in its way.

    They would want its port, or do not fit into memory with it: then it has to go first.
    """
    leaving = [copy for copy in retired(aim) if aim.seen[copy.box].unit(copy.unit).running]
    starting = [copy for copy in aim.copies if not aim.running(copy) or copy.backend in aim.replaced]
    return {new.backend: old.backend for old in leaving for new in starting if _hinders(aim, old, new)}


def _hinders(aim: Aim, old: Copy, new: Wanted) -> bool:
    here = new.on(old.box)
    if here is None:
        return False
    shares = [part.resolved.utilization or 0.0 for copy in aim.copies if (part := copy.on(old.box))]
    taken = _share(aim.seen[old.box].unit(old.unit).argv)
    return str(old.check.get("url", "")).endswith(f":{here.resolved.port}") or taken + sum(shares) > 1.0 + ROUNDING


def _share(argv: Sequence[str]) -> float:
    """The share of memory that a running engine was started with, as vLLM is told it; 0 where nobody tells."""
    after = [argv[at + 1] for at, word in enumerate(argv[:-1]) if word == "--gpu-memory-utilization"]
    try:
        return float(after[-1]) if after else 0.0
    except ValueError:
        return 0.0


def plan_leaving_groups(aim: Aim) -> list[Stage]:
    """Given the aim, return the stage that tells the boxes which running groups go, or get other boxes.

    Rules and the other boxes' status ports change before what runs is drained: who watches over a group (floor-group)
    would take the others for lost, and end it under its requests. It watches on, and believes what they tell alone. A
    group that stays after all, as when a deployment is taken back, is watched over as before. A part that waits at its
    gate, or has not come there, has nothing that could be ended.
    """
    found = [
        [
            _leave(box, copy, leaves=goes)
            for copy, goes in _groups(aim, box)
            if seen.unit(copy.unit).leaves not in (None, goes)
        ]
        for box, seen in aim.seen.items()
    ]
    return stage("tell who watches over groups which of them go", *found)


def _leave(box: str, copy: Copy, *, leaves: bool) -> Step:
    text = f"believe no silence around {copy.backend}" if leaves else f"watch over {copy.backend} as before"
    why = "it is drained and stopped" if leaves else "it stays"
    return Step(box, "group.leave", {"model": copy.model, "leaves": leaves}, text, why)


def _groups(aim: Aim, box: str) -> list[tuple[Copy, bool]]:
    """The groups with a running part on a box, and whether they are not wanted there as they are."""
    wanted = {unit.name: unit.backend for unit in aim.wanted[box].units}
    return [
        (copy, wanted.get(copy.unit) != copy.backend)
        for copy in present(aim, box)
        if copy.unit.startswith(difference.GROUP_PREFIX) and aim.seen[box].unit(copy.unit).running
    ]


def plan_retirements(aim: Aim, serving: Serving, among: Collection[str] | None = None) -> list[Stage]:
    """Given the aim, return one stage for each copy that is there and not wanted; with `among` only for these.

    The last one of a model may go only where its stage says so: also because floor.yaml no longer has the model.
    """
    stages: list[Stage] = []
    for copy in retired(aim):
        if among is not None and copy.backend not in among:
            continue
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
    grouped = unit.startswith(difference.GROUP_PREFIX)
    prefix, settings = (
        (difference.GROUP_PREFIX, groups.settings_path) if grouped else (difference.COPY_PREFIX, copies.settings_path)
    )
    model = unit.removeprefix(prefix).removesuffix(".service")
    check = check_params(aim.seen[box].texts.get(settings(model)))
    # The longest of all models: floor.yaml may no longer say how long a request of this one may take.
    longest = max((found.request_time for found in aim.config.models.values()), default=0.0)
    known = aim.config.models.get(model)
    return Copy(
        backend=str(check.get("backend") or f"{model}@{box}") if grouped else f"{model}@{box}",
        model=model,
        box=box,
        unit=unit,
        request_time=known.request_time if known else longest,
        check=check,
    )
