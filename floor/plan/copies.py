"""What the copies need, each in its turn: never two at once where one of them serves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from floor.plan import difference, lanes
from floor.plan.aim import Aim, Copy
from floor.plan.steps import Stage, Step, stage


def plan_copies(aim: Aim) -> list[Stage]:
    """Given the aim, return the stages that bring every managed copy to what is wanted.

    Copies of a model that nobody serves start side by side, there is nothing to lose; otherwise one by one. A copy
    that is out of the pools already goes first: it takes nothing away and gives the others more room.
    """
    stages: list[Stage] = []
    for model in aim.config.models:
        copies = [copy for copy in aim.copies() if copy.model == model and copy.box in aim.seen]
        serving = set(aim.serving(model))
        if not serving:
            stages += stage(f"start {model}", *(_lane(aim, copy, serving) for copy in copies))
            continue
        for copy in sorted(copies, key=lambda copy: copy.backend in serving):
            lane = _lane(aim, copy, serving)
            alone = _takes_away(lane) and serving <= {copy.backend}
            stages += stage(f"change {copy.backend}", lane, outage=(model,) if alone else ())
            serving.add(copy.backend)  # its stage ends when every pool has it
    return stages


def changes(aim: Aim, copy: Copy) -> tuple[list[Step], bool]:
    """The steps that put the files of `copy` in place, and whether systemd must read its units again."""
    seen = aim.seen[copy.box]
    found = [
        found
        for found in difference.files(aim.wanted[copy.box], seen)
        if difference.belongs_to(found.path) == copy.unit.name
    ]
    steps = file_steps(copy.box, found)
    reload = seen.unit(copy.unit.name).needs_reload or any(_is_unit(found.path) for found in found)
    if reload:
        steps.append(Step(copy.box, "units.reload", {}, "let systemd read its units again"))
    return steps, reload


def file_steps(box: str, found: Sequence[difference.FileDifference]) -> list[Step]:
    """Given what differs on a box, return the steps that put it right: stray files go, wanted ones come."""
    steps = []
    gone = [each.path for each in found if each.wanted is None]
    if gone:
        why = _why([each for each in found if each.wanted is None])
        steps.append(Step(box, "files.remove", {"paths": gone}, f"remove {_named(gone)}", why))
    put = [each.wanted for each in found if each.wanted is not None]
    if put:
        why = _why([each for each in found if each.wanted is not None])
        files = [{"path": f.path, "text": f.text, "mode": f.mode, "owner": f.owner} for f in put]
        steps.append(Step(box, "files.put", {"files": files}, f"write {_named([f.path for f in put])}", why))
    return steps


def _lane(aim: Aim, copy: Copy, serving: set[str]) -> list[Step]:
    box = aim.seen[copy.box]
    unit = box.unit(copy.unit.name)
    files, reload = changes(aim, copy)
    enabled = unit.enabled == "enabled"
    why = difference.relaunch(copy.unit, unit, box) if unit.running else None
    if why:
        last = serving <= {copy.backend}
        out = lanes.take_out(aim, copy, why, last=last)
        up = lanes.bring_up(aim, copy, why, enabled=enabled)
        return [*out, *lanes.bring_down(copy, why), *files, *up, *lanes.let_in(aim, copy)]
    if unit.active == "active":
        enable = [] if enabled else [Step(copy.box, "unit.enable", {"unit": unit.name}, f"enable {unit.name}")]
        return [*files, *enable, *_readmit(aim, copy)]
    if unit.active == "activating" and unit.sub != "auto-restart" and not reload:
        return [*files, lanes.wait_warm(copy), *lanes.let_in(aim, copy)]
    state = "dies and is restarted" if unit.sub == "auto-restart" else f"is {unit.active}"
    down = lanes.bring_down(copy, f"it {state}") if unit.running else []
    up = lanes.bring_up(aim, copy, f"it {state}", enabled=enabled)
    return [*down, *files, *up, *lanes.let_in(aim, copy)]


def _readmit(aim: Aim, copy: Copy) -> list[Step]:
    """A warm copy that an operation still holds out of a pool comes back."""
    for proxy in aim.proxies:
        drains = proxy.drains.get(copy.backend, ())
        if drains and not lanes.held(drains):
            return lanes.let_in(aim, copy)
    return []


def _takes_away(lane: Sequence[Step]) -> bool:
    return any(step.call == "unit.stop" for step in lane)


def _is_unit(path: str) -> bool:
    return PurePosixPath(path).is_relative_to("/etc/systemd/system")


def _why(found: Sequence[difference.FileDifference]) -> str:
    """What is wrong with files, said once for all that it is true of."""
    whats = dict.fromkeys(each.what for each in found)
    if len(found) == 1 or len(whats) == len(found):
        return "; ".join(f"{each.path} {each.what}" for each in found)
    return "; ".join(_of(what, [each.path for each in found if each.what == what]) for what in whats)


def _of(what: str, places: Sequence[str]) -> str:
    return f"{places[0]} {what}" if len(places) == 1 else f"{len(places)} files: {what}"


def _named(found: Sequence[str]) -> str:
    return found[0] if len(found) == 1 else f"{found[0]} and {len(found) - 1} more"
