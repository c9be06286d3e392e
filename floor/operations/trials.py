"""Proves each start of a plan before anything stops: a fresh process of the build reads its arguments and its
device."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from floor.config.model import Runtime
from floor.engines.trial import MEMORY, SECONDS, trial, verdict
from floor.errors import BoxError
from floor.operations.site import Site
from floor.plan.aim import Aim, Wanted
from floor.plan.steps import Plan

Say = Callable[[str], None]
ANSWER_SECONDS = SECONDS + 40.0


def starting(aim: Aim, plan: Plan) -> list[Wanted]:
    """Given the aim and a plan, return the copies that the plan starts."""
    starts = {
        (step.box, step.params["unit"]) for stage in plan.stages for step in stage.steps if step.call == "unit.start"
    }
    return [one for copy in aim.copies for one in copy.each() if (one.box, one.unit) in starts]


def trials(site: Site, aim: Aim, plan: Plan, say: Say, progress: Say, *, force: bool) -> list[str]:
    """Given the aim and a plan, try each start of it; return `BOX: found; what to do` for each that would fail.

    Boxes side by side, the copies of a box one after the other: memory for one is all that is taken. What could not
    be tried is said; with `force` so is what would fail, and nothing is refused.
    """
    by_box: dict[str, list[Wanted]] = {}
    for copy in starting(aim, plan):
        by_box.setdefault(copy.box, []).append(copy)
    if by_box:
        progress("  trying each start: a fresh process of the build reads its arguments and looks for its device")
    found: list[str] = []
    for answer in site.together([partial(_box, site, aim, copies, say) for copies in by_box.values()]):
        if isinstance(answer, BaseException):
            raise answer
        found += answer
    for line in found if force else ():
        say(f"note: {line}; going on as --force asks")
    return [] if force else found


def _box(site: Site, aim: Aim, copies: list[Wanted], say: Say) -> list[str]:
    found = []
    for copy in copies:
        wrong, remark = _try(site, aim, copy)
        if remark:
            say(f"note: {copy.backend}: {remark}")
        if wrong:
            found.append(f"{copy.box}: {copy.backend}: {wrong}")
    return found


def _try(site: Site, aim: Aim, copy: Wanted) -> tuple[str, str]:
    launch, runtime, seen = copy.state.launch, copy.resolved.runtime, aim.seen[copy.box]
    if runtime is None or (launch.image and not seen.images.get(launch.image)):
        return "", ""  # an image that is not there has been named already
    tried = trial(copy.resolved.engine, launch.argv, launch.env, launch.image, copy.model)
    if tried is None:
        return "", "its engine offers no way to try a start"
    params = {
        "argv": list(tried.argv),
        "env": dict(tried.env),
        "user": runtime.user,
        "container": tried.container,
        "memory": MEMORY,
        "seconds": SECONDS,
    }
    try:
        answer = site.boxes[copy.box].call("launch.trial", params, timeout=ANSWER_SECONDS)
    except BoxError as error:
        return str(error).removeprefix(f"{copy.box}: "), ""
    return verdict(tried.engine, answer, gpu=_gpu(runtime, bool(seen.facts.get("gpus"))))


def _gpu(runtime: Runtime, there: bool) -> bool:
    """Whether the engine must find a GPU: a container that is given some, a program of a box that has one."""
    return runtime.gpus is not None if runtime.kind == "docker" else there
