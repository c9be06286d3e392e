"""What the copies need, each in its turn: never two at once where one of them serves."""

from __future__ import annotations

from collections.abc import Collection

from floor.plan import lanes, takeover
from floor.plan.aim import Aim, Wanted
from floor.plan.files import file_steps, is_unit, reload_units
from floor.plan.pools import elsewhere
from floor.plan.seen import UnitSeen
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
            down = [copy for copy in copies if not aim.active(copy)]
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
    files, reload = part_files(aim, copy)
    if why := aim.replaced.get(copy.backend):
        out = lanes.take_out(aim, copy, why, last=last)
        up = lanes.bring_up(aim, copy, why)
        # one that comes up elsewhere is let in when the pools have been told of it
        back = [] if elsewhere(aim, copy.backend) else lanes.let_in(aim, copy)
        return [*out, *lanes.bring_down(copy, why), *files, *up, *back]
    if things := takeover.standing(aim, copy):
        taken = takeover.take_place(aim, copy, last=last)
        down = lanes.bring_down(copy, "its port is held") if _anything_of(aim, copy) else []
        up = lanes.bring_up(aim, copy, f"it takes the place of {things[0].title}")
        back = [] if elsewhere(aim, copy.backend) else lanes.let_in(aim, copy)
        return [*taken, *down, *files, *up, *back]
    if aim.active(copy):
        enable = [step for part in copy.parts for step in lanes.enable(aim, part)]
        return [*files, *enable, *lanes.rejoin(aim, copy, awaited=aim.proxies if awaited else ())]
    if all(comes_up(unit, copy) for unit in aim.units(copy)) and not reload:
        return [*files, *lanes.wait_warm(copy), *lanes.let_in(aim, copy)]
    why = _why(aim, copy)
    if copy.grouped and not reload:  # those that wait at their gates go with the others
        lacking = [part for part in copy.parts if not comes_up(aim.seen[part.box].unit(part.unit), copy)]
        return [*files, *lanes.bring_up(aim, copy, why, lacking), *lanes.let_in(aim, copy)]
    down = lanes.bring_down(copy, why) if _anything_of(aim, copy) else []
    return [*down, *files, *lanes.bring_up(aim, copy, why), *lanes.let_in(aim, copy)]


def comes_up(unit: UnitSeen, copy: Wanted) -> bool:
    """Given a unit of a copy or a group, return whether it gets there by itself. A part of a group that died is started
    into its gate, and waits there."""
    if unit.active == "activating":
        return copy.grouped or unit.sub != "auto-restart"
    return copy.grouped and unit.active == "active"


def _why(aim: Aim, copy: Wanted) -> str:
    """What is wrong with a copy or group that has to be started."""
    for (box, _), unit in zip(copy.places, aim.units(copy), strict=True):
        where = f" on {box}" if copy.grouped else ""
        if unit.sub == "auto-restart":
            return f"it dies and is restarted{where}"
        if unit.active != "active":
            return f"it is {unit.active}{where}"
    return "its unit changes"


def _anything_of(aim: Aim, copy: Wanted) -> bool:
    return any(unit.running or unit.left for unit in aim.units(copy))


def part_files(aim: Aim, copy: Wanted) -> tuple[list[Step], bool]:
    """The steps that put the files of `copy` in place, and whether systemd must read its units again."""
    steps: list[Step] = []
    again = False
    for part in copy.parts:
        found = aim.differing(part.box, part.unit)
        steps += file_steps(part.box, found)
        if aim.seen[part.box].unit(part.unit).needs_reload or any(is_unit(each.path) for each in found):
            steps.append(reload_units(part.box))
            again = True
    return steps, again
