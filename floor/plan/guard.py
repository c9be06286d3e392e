"""The firewall of each box: loaded before anything serves, wide enough for old and new proxies until both are one."""

from __future__ import annotations

from collections.abc import Mapping

from floor.box import paths
from floor.config.hosts import split_url
from floor.desired import firewall
from floor.desired.firewall import Extra
from floor.desired.state import File, Kind
from floor.plan import difference
from floor.plan.aim import Aim
from floor.plan.files import file_steps, is_unit, reload_units
from floor.plan.retire import present
from floor.plan.steps import Stage, Step, Until, stage

SECONDS = 30.0
PROXY = "floor-proxy.service"
FILES = (str(paths.FIREWALL), str(paths.UNITS / firewall.UNIT))  # what these stages see to, and no others


def plan_guard(aim: Aim) -> list[Stage]:
    """Given the aim, return the stage that loads the rules where they are not loaded, or are others.

    What still runs and is not wanted any more goes on: proxies that are to go are let in, engines that are to go are
    guarded. No engine is restarted by it, and no connection is cut.
    """
    return stage("guard the boxes", *(_lane(aim, box, _rules(aim, box, _extra(aim, box))) for box in _guarded(aim)))


def plan_narrowing(aim: Aim) -> list[Stage]:
    """Given the aim, return the stage that brings the rules to what is wanted, where something is to go before."""
    left = [box for box in _guarded(aim) if _extra(aim, box) != firewall.NOTHING]
    return stage("close what is no longer needed", *(_change(box, _rules(aim, box, firewall.NOTHING)) for box in left))


def _guarded(aim: Aim) -> list[str]:
    return [box for box in aim.seen if any(unit.kind is Kind.FIREWALL for unit in aim.wanted[box].units)]


def _extra(aim: Aim, box: str) -> Extra:
    proxies = {seen.box for seen in aim.seen.values() if seen.unit(PROXY).running} - set(aim.config.proxy.boxes)
    running = [copy for copy in present(aim, box) if aim.seen[box].unit(copy.unit).running]
    ports = {split_url(str(copy.check["url"]))[1] for copy in running if copy.check}
    wanted = {part.resolved.port for copy in (*aim.copies, *aim.sleeping) if (part := copy.on(box))}
    return Extra(frozenset(proxies), frozenset(ports - wanted), open=bool(aim.foreign.get(box)))


def _rules(aim: Aim, box: str, extra: Extra) -> File:
    if extra == firewall.NOTHING and (file := aim.wanted[box].file(str(paths.FIREWALL))):
        return file
    return firewall.rules(aim.config, box, aim.facts, extra)


def _change(box: str, rules: File) -> list[Step]:
    """The steps for rules that are to follow upon others."""
    wanted = difference.FileDifference(rules.path, rules, "lets in what is no longer needed")
    reload = Step(box, "unit.reload", {"unit": firewall.UNIT}, f"reload {firewall.UNIT}", "its rules change")
    return [*file_steps(box, [wanted]), reload]


def _lane(aim: Aim, box: str, rules: File) -> list[Step]:
    seen = aim.seen[box]
    there, unit = seen.unit(firewall.UNIT), {"unit": firewall.UNIT}
    found = [each for each in aim.differing(box, None) if each.path == FILES[1] and each.wanted is not None]
    changed = difference.compare(rules, seen)
    steps = file_steps(box, [*found, *([changed] if changed else [])])
    if there.needs_reload or any(is_unit(each.path) for each in found):
        steps.append(reload_units(box))
    if there.enabled != "enabled":
        steps.append(Step(box, "unit.enable", unit, f"enable {firewall.UNIT}"))
    if not there.running:
        until = Until("active", SECONDS, value="active", crashed=True)
        steps.append(Step(box, "unit.start", unit, f"start {firewall.UNIT}", f"it is {there.active}"))
        wait = {**unit, "until": "active"}
        steps.append(Step(box, "unit.wait", wait, f"wait until {firewall.UNIT} runs", until=until))
    elif why := "its rules change" if changed else _undone(seen.firewall):
        steps.append(Step(box, "unit.reload", unit, f"reload {firewall.UNIT}", why))
    return steps


def _undone(live: Mapping[str, object]) -> str:
    """Why the rules must be loaded again although their file is right; empty where they need not."""
    if live.get("loaded") is False:
        return "its table is not there: somebody has taken it away"
    return "its table holds other rules than its file: somebody has changed them" if live.get("same") is False else ""


def own(path: str) -> bool:
    """Whether the file at this path is seen to by the stages here."""
    return path in FILES
