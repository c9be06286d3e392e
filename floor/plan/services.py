"""What a box needs besides its copies: mode, settings, nginx, and floor's own services. None of it stops an engine."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

from floor.box import paths
from floor.desired import keepalived
from floor.desired.state import Kind, Unit
from floor.plan import difference, guard, lanes, modes, takeover, tls
from floor.plan.aim import Aim
from floor.plan.files import file_steps, is_unit, reload_units
from floor.plan.pools import Between, between
from floor.plan.retire import retired
from floor.plan.seen import Seen
from floor.plan.serving import Serving
from floor.plan.steps import Stage, Step, Until, stage

# A pool wants the status ports, nginx the pool's members, the shared address an nginx that answers.
ORDER = (
    Kind.TARGET,
    Kind.GUARD,
    Kind.STATUS,
    Kind.GROUPS,
    Kind.POOL,
    Kind.PROXY,
    Kind.ADDRESS,
    Kind.METRICS,
    Kind.TIMER,
)
RELOADED = (Kind.PROXY, Kind.ADDRESS)  # the others are restarted when their settings change
SERVICE_SECONDS = 30.0


def plan_services(aim: Aim, serving: Serving) -> list[Stage]:
    """Given the aim, return the stages for everything but the copies: engine boxes side by side, then each proxy box.

    While copies are still to be changed the pools know old and new backends alike. A backend that they must forget
    although it is the last one that serves its model makes the stage an outage.
    """
    leaving = {copy.backend for copy in retired(aim) if aim.seen[copy.box].unit(copy.unit).running}
    leaving |= modes.staying(aim)
    moving = set(aim.replaced)
    boxes = [box for box in aim.wanted if box in aim.seen]
    proxies = [seen.box for seen in aim.proxies]
    stages = stage("prepare the boxes", *(_lane(aim, box, None) for box in boxes if box not in proxies))
    lost: set[str] = set()
    for box in proxies:
        now = _pool_settings(aim, box, leaving, moving)
        lost |= now.lost
        stages += stage(f"prepare {box}", _lane(aim, box, now), outage=_outage(aim.seen[box], now.lost))
    for model in aim.config.models:
        serving.leaves(model, lost)
    return stages


def plan_leftovers(aim: Aim) -> list[Stage]:
    """Given the aim, return the stage that takes services away which a box no longer needs: after all that serves."""
    found_lanes = []
    for box in aim.seen:
        found = [each for each in aim.differing(box, None) if each.wanted is None]
        if names := _leftover(aim, box):
            reload = [reload_units(box)] if any(is_unit(each.path) for each in found) else []
            gone = [step for name in names for step in _take_away(box, name, _patience(aim, name))]
            found_lanes.append([*gone, *file_steps(box, found), *reload])
    return stage("take away services", *found_lanes)


def _pool_settings(aim: Aim, box: str, leaving: Collection[str], moving: Collection[str]) -> Between:
    path = str(paths.POOL_SETTINGS)
    wanted = aim.wanted[box].file(path)
    text = wanted.text if wanted else '{"pools": []}'
    return between(aim.seen[box].texts.get(path), text, leaving, moving, takeover.places(aim))


def _outage(proxy: Seen, lost: Collection[str]) -> tuple[str, ...]:
    """The models of which this box's pool would have nobody left."""
    models = (proxy.pool or {}).get("pools") or {}
    return tuple(model for model in models if proxy.serving(model) and proxy.serving(model) <= set(lost))


def _lane(aim: Aim, box: str, pool: Between | None) -> list[Step]:
    seen = aim.seen[box]
    found = _files(aim, box, pool)
    if _leftover(aim, box):  # what they read goes with them
        found = [each for each in found if each.wanted is not None]
    units = [unit for kind in ORDER for unit in aim.wanted[box].units if unit.kind is kind]
    steps = file_steps(box, found)
    changed = {each.path for each in found}
    if any(is_unit(path) for path in changed) or any(seen.unit(unit.name).needs_reload for unit in units):
        steps.append(reload_units(box))
    anew = False
    steps += takeover.fronts(aim, box)
    for unit in units:
        if unit.kind is Kind.TARGET:
            steps += _target(seen, unit)
            continue
        verb, why = _verb(aim, box, unit, changed)
        steps += _unit(seen, unit, verb, why, _patience(aim, unit.name))
        anew = anew or (unit.kind is Kind.POOL and verb != "")
    return [*steps, *_settled(aim, seen)] if anew else steps


def _target(seen: Seen, unit: Unit) -> list[Step]:
    """The target is for boots. Only where none has started it yet it is started, which starts nothing: no engine is
    enabled by then. After that it is left alone: it is inactive for as long as an engine loads after a boot, and where
    somebody stopped it; starting it would start every engine that is down, all at once. So it is enabled alone where
    somebody disabled it."""
    if seen.unit(unit.name).enabled == "enabled":
        return []
    # Enabled last, so that a deployment that is killed in between starts it again.
    enable = Step(seen.box, "unit.enable", {"unit": unit.name}, f"enable {unit.name}")
    engines = [one for one in seen.units.values() if one.name.startswith(difference.ENGINE_PREFIXES)]
    if any(one.enabled == "enabled" for one in engines):
        return [enable]
    return [
        Step(seen.box, "unit.start", {"unit": unit.name}, f"start {unit.name}", "no boot has started it yet"),
        enable,
    ]


def _unit(seen: Seen, unit: Unit, verb: str, why: str, seconds: float) -> list[Step]:
    params = {"unit": unit.name}
    steps = []
    if seen.unit(unit.name).enabled != "enabled":
        steps.append(Step(seen.box, "unit.enable", params, f"enable {unit.name}"))
    if verb:
        steps.append(Step(seen.box, f"unit.{verb}", params, f"{verb} {unit.name}", why))
        until = Until("active", seconds, value="active", crashed=True)
        text = f"wait until {unit.name} runs"
        steps.append(Step(seen.box, "unit.wait", {**params, "until": "active"}, text, until=until))
    return steps


def _verb(aim: Aim, box: str, unit: Unit, changed: Collection[str]) -> tuple[str, str]:
    """What to tell systemd of a service: nothing, start, restart or reload; and why."""
    seen = aim.seen[box]
    there = seen.unit(unit.name)
    if not there.running or there.sub == "auto-restart":
        return "start", f"it is {there.active}"
    if why := difference.relaunch(unit, there, seen):
        return "restart", why
    read = sorted(set(changed) & set(unit.reload_on))
    why = f"{read[0]} changes" if read else difference.stale(unit, there, seen) or ""
    if not why and unit.kind is Kind.PROXY:
        why = tls.renewed(there, seen)
    if not why and box in aim.rekeyed and unit.kind is not Kind.ADDRESS:
        why = "it must read the keys again"
    return ("reload" if unit.kind in RELOADED else "restart", why) if why else ("", "")


def _settled(aim: Aim, proxy: Seen) -> list[Step]:
    """Wait until the pool of a box, which is started anew, has the copies that are up: others may go next."""
    return [
        lanes.in_pool(proxy.box, copy, member=True, late="go on")
        for copy in aim.copies
        if (aim.active(copy) or copy.backend in takeover.adopted(aim))
        and not proxy.drained(copy.backend)
        and copy.backend not in aim.replaced
    ]


def _files(aim: Aim, box: str, pool: Between | None) -> list[difference.FileDifference]:
    """The box's files that are not as wanted; of the pools' settings those that hold just then."""
    found = aim.differing(box, None)
    found = [each for each in found if each.wanted is None or not guard.own(each.path)]
    if modes.in_other(aim, aim.seen[box]):  # that has its own stage, once nothing of the other mode runs
        found = [each for each in found if each.path != str(paths.MODE)]
    file = aim.wanted[box].file(str(paths.POOL_SETTINGS))
    if pool is None or file is None:
        return found
    settings = difference.compare(dataclasses.replace(file, text=pool.text), aim.seen[box])
    return [each for each in found if each.path != file.path] + ([settings] if settings else [])


def _leftover(aim: Aim, box: str) -> list[str]:
    """Services of ours that run or are enabled on a box and are not wanted there."""
    ours = {unit.name for unit in aim.wanted[box].units}
    names = {unit.name for unit in aim.seen[box].units.values() if unit.running or unit.enabled == "enabled"}
    return sorted(name for name in names - ours if not name.startswith((*difference.ENGINE_PREFIXES, paths.FETCH_UNIT)))


def _patience(aim: Aim, name: str) -> float:
    """Seconds for a service to start or to stop. Who gives the shared address up lets the requests under it end."""
    if name != keepalived.UNIT:
        return SERVICE_SECONDS
    return SERVICE_SECONDS + max((model.request_time for model in aim.config.models.values()), default=0.0)


def _take_away(box: str, name: str, seconds: float) -> list[Step]:
    why = "this box no longer has that part"
    stopped = Until("stopped", seconds, late="kill")
    return [
        Step(box, "unit.disable", {"unit": name}, f"disable {name}", why),
        Step(box, "unit.stop", {"unit": name}, f"stop {name}", why, stopped),
    ]
