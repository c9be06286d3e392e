"""What a box needs besides its copies: mode, settings, nginx, and floor's own services. None of it stops an engine."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from floor.box import paths
from floor.desired.state import BoxState, File, Kind, Unit
from floor.plan import difference
from floor.plan.aim import Aim
from floor.plan.copies import file_steps
from floor.plan.seen import Seen
from floor.plan.steps import Stage, Step, Until, stage

ORDER = (Kind.TARGET, Kind.STATUS, Kind.POOL, Kind.PROXY)  # a pool wants the status ports, nginx the pool's members
SERVICE_SECONDS = 30.0


def plan_services(aim: Aim, *, copies_pending: bool) -> list[Stage]:
    """Given the aim, return the stages for everything but the copies: engine boxes side by side, then each proxy box.

    While copies are still to be changed (`copies_pending`) the pools know old and new backends alike.
    """
    proxies = set(aim.config.proxy.boxes)
    lanes = {box: _lane(aim, box, copies_pending) for box in aim.wanted if box in aim.seen}
    stages = stage("prepare the boxes", *(lane for box, lane in lanes.items() if box not in proxies))
    for box in (box for box in lanes if box in proxies):
        stages += stage(f"prepare {box}", lanes[box])
    return stages


def retired_backends(present: str | None, wanted: str) -> list[dict[str, Any]]:
    """Given the pool settings that lie on a box and those wanted, return the backends that only the former has."""
    names = {backend["name"] for pool in json.loads(wanted)["pools"] for backend in pool["backends"]}
    return [
        {**backend, "model": pool["model"]}
        for pool in _pools(present)
        for backend in pool["backends"]
        if backend["name"] not in names
    ]


def united(present: str | None, wanted: str) -> str:
    """Given pool settings as they lie on a box and as wanted, return the wanted ones with the old backends kept."""
    settings = json.loads(wanted)
    pools = {pool["model"]: pool for pool in settings["pools"]}
    for old in _pools(present):
        new = pools.get(old["model"])
        if new is None:
            settings["pools"].append(old)
            continue
        names = {backend["name"] for backend in new["backends"]}
        new["backends"] += [backend for backend in old["backends"] if backend["name"] not in names]
    return json.dumps(settings, indent=1, sort_keys=True) + "\n"


def _pools(text: str | None) -> list[dict[str, Any]]:
    try:
        found = json.loads(text) if text else {}
    except ValueError:
        return []  # a settings file that somebody broke holds no backends to keep; it is written anew
    return list(found.get("pools", [])) if isinstance(found, Mapping) else []


def _lane(aim: Aim, box: str, copies_pending: bool) -> list[Step]:
    seen = aim.seen[box]
    wanted = _with_old_backends(aim.wanted[box], seen) if copies_pending else aim.wanted[box]
    found = [each for each in difference.files(wanted, seen) if difference.belongs_to(each.path) is None]
    units = [unit for kind in ORDER for unit in wanted.units if unit.kind is kind]
    leftover = _leftover(wanted, seen)
    steps = [step for name in leftover for step in _take_away(box, name)]
    steps += file_steps(box, found)
    changed = {each.path for each in found}
    if any(path.startswith(str(paths.UNITS)) for path in changed) or any(seen.unit(u.name).needs_reload for u in units):
        steps.append(Step(box, "units.reload", {}, "let systemd read its units again"))
    for unit in units:
        steps += _unit(box, unit, seen, changed)
    return steps


def _unit(box: str, unit: Unit, seen: Seen, changed: set[str]) -> list[Step]:
    there = seen.unit(unit.name)
    steps = []
    if there.enabled != "enabled":
        steps.append(Step(box, "unit.enable", {"unit": unit.name}, f"enable {unit.name}"))
    verb, why = _verb(unit, seen, changed)
    if verb:
        steps.append(Step(box, f"unit.{verb}", {"unit": unit.name}, f"{verb} {unit.name}", why))
        until = Until("active", SERVICE_SECONDS, value="active", crashed=True)
        params = {"unit": unit.name, "until": "active"}
        steps.append(Step(box, "unit.wait", params, f"wait until {unit.name} runs", until=until))
    return steps


def _verb(unit: Unit, seen: Seen, changed: set[str]) -> tuple[str, str]:
    """What to tell systemd of a service: nothing, start, restart or reload; and why."""
    there = seen.unit(unit.name)
    if not there.running or there.sub == "auto-restart":
        return "start", f"it is {there.active}"
    if unit.kind is Kind.TARGET:
        return "", ""
    if why := difference.relaunch(unit, there, seen):
        return "restart", why
    read = sorted(changed & set(unit.reload_on))
    why = f"{read[0]} changes" if read else difference.stale(unit, there, seen) or ""
    return ("reload" if unit.kind is Kind.PROXY else "restart", why) if why else ("", "")


def _with_old_backends(wanted: BoxState, seen: Seen) -> BoxState:
    path = str(paths.POOL_SETTINGS)
    file, present = wanted.file(path), seen.texts.get(path)
    if file is None or not retired_backends(present, file.text):
        return wanted
    kept = File(file.path, united(present, file.text), file.mode, file.owner)
    return dataclasses.replace(wanted, files=tuple(kept if each is file else each for each in wanted.files))


def _leftover(wanted: BoxState, seen: Seen) -> list[str]:
    """Services of ours that run or are enabled here and are not wanted on this box."""
    ours = {unit.name for unit in wanted.units}
    names = {unit.name for unit in seen.units.values() if unit.running or unit.enabled == "enabled"}
    return sorted(name for name in names - ours if not name.startswith(difference.COPY_PREFIX))


def _take_away(box: str, name: str) -> list[Step]:
    why = "this box no longer has that part"
    return [
        Step(box, "unit.disable", {"unit": name}, f"disable {name}", why),
        Step(box, "unit.stop", {"unit": name}, f"stop {name}", why, Until("stopped", SERVICE_SECONDS, late="kill")),
    ]
