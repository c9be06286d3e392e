"""Builds of copies as they run and as they are wanted, and what a deployment must not change without a test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from floor.engines.build import Build, build, changes
from floor.engines.serve import EMBED
from floor.plan.aim import Aim, Copy, Wanted
from floor.plan.difference import ENGINE_PREFIXES, command, model_of
from floor.plan.retire import present
from floor.plan.seen import UnitSeen
from floor.plan.steps import Plan, Step


def wanted(aim: Aim, copy: Wanted) -> Build:
    """Given a copy, or a group by its head, return the build that it is to have."""
    launch = copy.state.launch
    image = aim.seen[copy.box].images.get(launch.image) if launch.image else None
    return build(launch.argv, launch.env, image)


def running(aim: Aim, copy: Copy) -> Build | None:
    """Given a copy, or a group by its head, return the build that its process was started with; None where it has none
    or does not tell. Of a program's variables those are known that are wanted."""
    unit = aim.seen[copy.box].unit(copy.unit)
    return of(unit) if unit.running and len(unit.argv) > 1 else None


def of(unit: UnitSeen) -> Build:
    """Given a unit as it runs, return its build."""
    return build(unit.argv, unit.env, unit.image)


def changing(aim: Aim, copy: Wanted) -> list[str]:
    """Given a copy, return what of its build becomes another when its process is replaced; empty where none is, or
    where none of that is the build's."""
    if copy.backend not in aim.replaced:
        return []
    now, then = running(aim, copy), wanted(aim, copy)
    if now is None:
        return ["what runs does not tell its build"]
    unit, launch = aim.seen[copy.box].unit(copy.unit), copy.state.launch
    same_words = command(launch.argv, unit.argv) == launch.argv
    # A variable that is no longer wanted was not asked for: only the digest of the launch tells that it was there.
    unseen = ["its environment"] if same_words and unit.launch not in ("", launch.digest) else []
    return changes(now, then) or unseen


def serving(aim: Aim, model: str) -> list[Build]:
    """Given a model, return the builds of floor's own engines that any pool has in it, each once."""
    every: list[Copy] = [*(copy for copy in aim.copies if copy.model == model)]
    names = {copy.backend for copy in every}
    gone = (copy for box in aim.seen for copy in present(aim, box))
    every += [copy for copy in gone if copy.model == model and copy.backend not in names]
    members = {name for proxy in aim.proxies for name in proxy.serving(model)}
    found: dict[str, Build] = {}
    for copy in every:
        if copy.backend in members and (one := running(aim, copy)) is not None:
            found.setdefault(one.digest, one)
    return list(found.values())


def ungated(aim: Aim) -> dict[str, list[str]]:
    """Given the aim of a deployment, return by backend what of the build would change without a test: of each copy that
    is to start with a build that nobody serves the model with, while somebody serves it."""
    found: dict[str, list[str]] = {}
    for model in aim.config.models:
        present_builds = serving(aim, model)
        digests = {one.digest for one in present_builds}
        for copy in (copy for copy in aim.copies if copy.model == model and copy.resolved.task != EMBED):
            down = not aim.running(copy) and not aim.differing(copy.box, copy.unit)  # as it was deployed before
            if not present_builds or down or (aim.running(copy) and copy.backend not in aim.replaced):
                continue
            told = _told(aim, copy, present_builds)
            if wanted(aim, copy).digest not in digests and told:
                found[copy.backend] = told
    return found


def told(plan: Plan, found: Mapping[str, Sequence[str]]) -> Plan:
    """Given a plan and what of which backends' builds changes without a test, return it with that as a reason of the
    steps that stop and start them: it is written into the events."""
    if not found:
        return plan
    units = {
        backend.partition("@")[0]: f"ungated, its build becomes another: {'; '.join(w)}" for backend, w in found.items()
    }
    stages = [
        replace(each, lanes=tuple(tuple(_marked(step, units) for step in lane) for lane in each.lanes))
        for each in plan.stages
    ]
    return replace(plan, stages=tuple(stages))


def _marked(step: Step, units: Mapping[str, str]) -> Step:
    unit = str(step.params.get("unit", ""))
    why = units.get(model_of(unit)) if unit.startswith(ENGINE_PREFIXES) else None
    return replace(step, why=why) if why and step.call in ("unit.stop", "unit.start") else step


def _told(aim: Aim, copy: Wanted, present_builds: Sequence[Build]) -> list[str]:
    return changing(aim, copy) or changes(present_builds[0], wanted(aim, copy))
