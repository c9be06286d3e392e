"""Copies that are no longer wanted: out of the pools, finished, stopped, gone; only after the new ones serve."""

from __future__ import annotations

from typing import Any

from floor.box import paths
from floor.plan import difference
from floor.plan.aim import Aim, check_params, settings_path
from floor.plan.copies import file_steps
from floor.plan.lanes import POOL_SECONDS, STOP_SECONDS
from floor.plan.steps import Stage, Step, Until, stage


def plan_retirements(aim: Aim) -> list[Stage]:
    """Given the aim, return one stage for each unit of a copy that is on a box and not wanted there."""
    stages: list[Stage] = []
    for box, state in aim.wanted.items():
        if box not in aim.seen:
            continue
        ours = {unit.name for unit in state.units}
        names = {name for path in aim.seen[box].owned if (name := difference.belongs_to(path))}
        names |= {unit.name for unit in aim.seen[box].units.values() if unit.name.startswith(difference.COPY_PREFIX)}
        for name in sorted(names - ours):
            lane = _lane(aim, box, name)
            gone = [model] if (model := _model(name)) not in aim.config.models else []
            stages += stage(f"retire {model}@{box}", lane, outage=tuple(gone if lane else ()))
    return stages


def _lane(aim: Aim, box: str, name: str) -> list[Step]:
    seen = aim.seen[box]
    unit = seen.unit(name)
    model, backend = _model(name), f"{_model(name)}@{box}"
    why = f"floor.yaml no longer has {backend}"
    found = [each for each in difference.files(aim.wanted[box], seen) if difference.belongs_to(each.path) == name]
    steps: list[Step] = []
    if unit.running:
        for proxy in aim.knows(backend, model):
            drain: dict[str, Any] = {"backend": backend, "holder": aim.holder, "last": model not in aim.config.models}
            steps.append(Step(proxy.box, "drain.add", drain, f"drain {backend}", why))
            out = {"model": model, "backend": backend, "member": False}
            text = f"wait until {backend} is out of {proxy.box}'s pool"
            steps.append(Step(proxy.box, "pool.wait", out, text, until=Until("reached", POOL_SECONDS)))
        settings = seen.texts.get(settings_path(model))
        if steps and settings:
            idle = Until("idle", _request_time(aim), times=2, late="go on")
            steps.append(
                Step(box, "engine.idle", check_params(settings), f"wait until {backend} has finished", until=idle)
            )
    if unit.running or unit.enabled == "enabled":
        steps.append(Step(box, "unit.disable", {"unit": name}, f"disable {name}", why))
        stopped = Until("stopped", STOP_SECONDS, late="kill")
        steps.append(Step(box, "unit.stop", {"unit": name}, f"stop {backend}", why, stopped))
    steps += file_steps(box, found)
    if any(each.path.startswith(str(paths.UNITS)) for each in found):
        steps.append(Step(box, "units.reload", {}, "let systemd read its units again"))
    return steps


def _model(unit: str) -> str:
    return unit.removeprefix(difference.COPY_PREFIX).removesuffix(".service")


def _request_time(aim: Aim) -> float:
    """The longest time that a request of any model may take: the config no longer tells it of the retired one."""
    return max((model.request_time for model in aim.config.models.values()), default=0.0)
