"""Two modes on the same boxes: what runs in the other one goes, everywhere, before the boxes are in this one."""

from __future__ import annotations

from collections.abc import Sequence

from floor.box import paths
from floor.plan import lanes
from floor.plan.aim import Aim, Wanted
from floor.plan.copies import part_files
from floor.plan.outage import duration, expected
from floor.plan.seen import Seen
from floor.plan.serving import Serving
from floor.plan.steps import Stage, Step, beside, stage, sure


def switching(aim: Aim) -> list[str]:
    """Given the aim, return the boxes that are in the other mode than the one that is wanted."""
    return [box for box, seen in aim.seen.items() if in_other(aim, seen)]


def in_other(aim: Aim, seen: Seen) -> bool:
    """Whether a box is in another mode than is wanted. One without a mode has run nothing yet."""
    file = aim.wanted[seen.box].file(str(paths.MODE))
    return file is not None and seen.mode not in (None, aim.mode)


def plan_sleeping(aim: Aim) -> list[Stage]:
    """Given the aim, return the stage that puts in place what runs in the other mode alone: it lies there, enabled, and
    its condition keeps it from running."""
    by_box: dict[str, list[Step]] = {}
    for copy in aim.sleeping:
        if not remains(aim, copy):
            steps, _ = part_files(aim, copy)
            steps += [step for part in copy.parts for step in lanes.enable(aim, part)]
            for step in steps:
                by_box.setdefault(step.box, []).append(step)
    return stage("put the other mode in place", *by_box.values())


def plan_leaving(aim: Aim, serving: Serving) -> list[Stage]:
    """Given the aim, return the stages that take what runs and is of the other mode out of every pool, all of it at
    once, and then stop it on every box: finished, and no process left."""
    going = [copy for copy in aim.sleeping if remains(aim, copy)]
    names = {copy.backend for copy in going}
    models = dict.fromkeys(copy.model for copy in going)
    last = {model: serving.only(model, names) for model in models}
    why = f"it does not run in mode {aim.mode}"
    outage = tuple(model for model in models if last[model] and serving.anyone(model))
    outs = [lanes.take_out(aim, copy, why, last=last[copy.model]) for copy in going]
    drains = [[step for out in outs for step in out if step.call == call] for call in ("drain.add", "pool.wait")]
    stops = [
        [*(step for step in out if step.call == "engine.idle"), *lanes.bring_down(copy, why)]
        for copy, out in zip(going, outs, strict=True)
    ]
    for model in models:
        serving.leaves(model, names)
    first = [*_announce(aim, outage, going), *(step for steps in drains for step in beside(steps))]
    return [
        *sure(stage(f"take out what does not run in mode {aim.mode}", first, outage=outage)),
        *sure(stage(f"stop what does not run in mode {aim.mode}", *stops, outage=outage)),
    ]


def _announce(aim: Aim, outage: Sequence[str], going: Sequence[Wanted]) -> list[Step]:
    """Tell every pool how long the models will be away: clients are told with each 503."""
    seconds: dict[str, int] = {}
    for model in outage:
        found = expected(aim, [copy for copy in going if copy.model == model], coming(aim, model))
        seconds |= {model: round(found.seconds)} if found else {}
    if not seconds:
        return []
    told = ", ".join(f"{model} is away for about {duration(time)}" for model, time in seconds.items())
    params = {"mode": aim.mode, "models": seconds}
    return beside([Step(proxy.box, "pool.announce", params, f"tell clients that {told}") for proxy in aim.proxies])


def coming(aim: Aim, model: str) -> list[Wanted]:
    """The copies or the group of a model that run in the mode to come."""
    return [copy for copy in aim.copies if copy.model == model]


def plan_mode(aim: Aim) -> list[Stage]:
    """Given the aim, return the stage that puts every box into the mode. A box where anything of the other one runs by
    then, as after a power cut, refuses it."""
    found = []
    for box in switching(aim):
        down = [unit for copy in aim.sleeping for where, unit in copy.places if where == box]
        text, why = f"write {paths.MODE}", f"{paths.MODE} says {aim.seen[box].mode}"
        found.append([Step(box, "mode.put", {"mode": aim.mode, "down": down}, text, why)])
    return sure(stage(f"mode {aim.mode}", *found))


def staying(aim: Aim) -> set[str]:
    """Given the aim, return the backends of the other mode that the pools are still to know: those that run, and until
    all that answers in this mode is up those that they know already."""
    return {copy.backend for copy in aim.sleeping if remains(aim, copy) or not _up(aim, copy.model)}


def remains(aim: Aim, copy: Wanted) -> bool:
    """Whether a unit of it runs, or has left a process."""
    return any(unit.running or unit.left for unit in aim.units(copy))


def _up(aim: Aim, model: str) -> bool:
    return all(aim.active(copy) for copy in aim.copies if copy.model == model)
