"""What the copies need, each in its turn: never two at once where one of them serves."""

from __future__ import annotations

from collections.abc import Collection

from floor.plan import lanes, takeover
from floor.plan.aim import Aim, Wanted
from floor.plan.files import file_steps, is_unit, reload_units
from floor.plan.pools import elsewhere
from floor.plan.serving import Serving
from floor.plan.steps import Stage, Step, stage


def plan_copies(
    aim: Aim, serving: Serving, leaving: Collection[str] = (), among: Collection[str] | None = None
) -> list[Stage]:
    """Given the aim, return the stages that bring every managed copy to what is wanted.

    Where nobody serves a model its copies start side by side, there is nothing to lose; all else goes one by one. A
    copy that is out of the pools already goes first: it takes nothing away and gives the others more room. `leaving`
    are the models of which copies are retired afterwards: those that stay must be in before that. With `among` only
    these backends are looked at.
    """
    stages: list[Stage] = []
    chosen = [copy for copy in aim.copies if among is None or copy.backend in among]
    for model in aim.config.models:
        copies = [copy for copy in chosen if copy.model == model]
        if not serving.anyone(model):
            down = [copy for copy in copies if aim.seen[copy.box].unit(copy.unit).active != "active"]
            down = [copy for copy in down if not takeover.standing(aim, copy)]
            starts = [_lane(aim, copy, last=False, awaited=False) for copy in down]
            stages += stage(f"start {model}", *starts)
            for copy, lane in zip(down, starts, strict=True):
                _joins(serving, copy, lane)
            copies = [copy for copy in copies if copy not in down]
        stages += _one_by_one(aim, serving, copies, leaving=model in leaving)
    return stages


def _one_by_one(aim: Aim, serving: Serving, copies: list[Wanted], *, leaving: bool) -> list[Stage]:
    stages: list[Stage] = []
    awaited = leaving or any(copy.backend in aim.replaced or takeover.standing(aim, copy) for copy in copies)
    for copy in sorted(copies, key=lambda copy: serving.everywhere(copy.model, copy.backend)):
        last = serving.only(copy.model, {copy.backend})
        if takeover.standing(aim, copy):  # it may serve without any pool's knowing
            last = last or not serving.members(copy.model) - {copy.backend}
        lane = _lane(aim, copy, last=last, awaited=awaited)
        stops = any(step.call in ("unit.stop", "foreign.stop") for step in lane)
        title = "change" if any(step.call.startswith(("unit.", "files.", "foreign.")) for step in lane) else "let in"
        stages += stage(f"{title} {copy.backend}", lane, outage=(copy.model,) if last and stops else ())
        _joins(serving, copy, lane)
    return stages


def _joins(serving: Serving, copy: Wanted, lane: list[Step]) -> None:
    """A copy that was started, or waited for, is in every pool before the next one goes."""
    if any(step.call == "unit.start" or (step.call == "pool.wait" and step.params["member"]) for step in lane):
        serving.joins(copy)


def _lane(aim: Aim, copy: Wanted, *, last: bool, awaited: bool) -> list[Step]:
    unit = aim.seen[copy.box].unit(copy.unit)
    files, reload = _files(aim, copy)
    enabled = unit.enabled == "enabled"
    if why := aim.replaced.get(copy.backend):
        out = lanes.take_out(aim, copy, why, last=last)
        up = lanes.bring_up(copy, why, enabled=enabled)
        # one that comes up elsewhere is let in when the pools have been told of it
        back = [] if elsewhere(aim, copy.backend) else lanes.let_in(aim, copy)
        return [*out, *lanes.bring_down(copy, why), *files, *up, *back]
    if things := takeover.standing(aim, copy):
        taken = takeover.take_place(aim, copy, last=last)
        down = lanes.bring_down(copy, "its port is held") if unit.running or unit.left else []
        up = lanes.bring_up(copy, f"it takes the place of {things[0].title}", enabled=enabled)
        back = [] if elsewhere(aim, copy.backend) else lanes.let_in(aim, copy)
        return [*taken, *down, *files, *up, *back]
    if unit.active == "active":
        enable = [] if enabled else [Step(copy.box, "unit.enable", {"unit": unit.name}, f"enable {unit.name}")]
        return [*files, *enable, *lanes.rejoin(aim, copy, awaited=aim.proxies if awaited else ())]
    if unit.active == "activating" and unit.sub != "auto-restart" and not reload:
        return [*files, lanes.wait_warm(copy), *lanes.let_in(aim, copy)]
    why = "it dies and is restarted" if unit.sub == "auto-restart" else f"it is {unit.active}"
    down = lanes.bring_down(copy, why) if unit.running or unit.left else []
    return [*down, *files, *lanes.bring_up(copy, why, enabled=enabled), *lanes.let_in(aim, copy)]


def _files(aim: Aim, copy: Wanted) -> tuple[list[Step], bool]:
    """The steps that put the files of `copy` in place, and whether systemd must read its units again."""
    seen = aim.seen[copy.box]
    found = aim.differing(copy.box, copy.unit)
    steps = file_steps(copy.box, found)
    reload = seen.unit(copy.unit).needs_reload or any(is_unit(found.path) for found in found)
    return [*steps, reload_units(copy.box)] if reload else steps, reload
