"""From one mode to the other: the order in which a switch changes things, and what keeps it from beginning."""

from __future__ import annotations

from floor.config.model import ResolvedCopy
from floor.plan import holders
from floor.plan.absent import plan_absent
from floor.plan.aim import Aim
from floor.plan.copies import plan_copies
from floor.plan.guard import plan_guard
from floor.plan.modes import coming, plan_leaving, plan_mode, plan_sleeping, remains
from floor.plan.outage import Expected, expected
from floor.plan.services import plan_services
from floor.plan.serving import Serving
from floor.plan.steps import Plan


def plan_switch(aim: Aim) -> Plan:
    """Given the aim in the mode to come, return what is left of the switch; empty when nothing is.

    The order: boxes that do not answer kept out, the firewall, services (pools know the backends of both modes), what
    runs in the other mode alone goes on every box, every box gets the mode, and what runs in it starts. Copies of
    models that are not split are not looked at.
    """
    serving = Serving(aim)
    among = [copy.backend for copy in aim.copies if copy.model in switched(aim)]
    stages = [
        *plan_absent(aim, serving, switched(aim)),
        *plan_guard(aim),
        *plan_services(aim, serving),
        *plan_sleeping(aim),
        *plan_leaving(aim, serving),
        *plan_mode(aim),
        *plan_copies(aim, serving, among=among),
    ]
    if not stages:
        return Plan()
    away = _away(aim)
    notes = [found.words(model) for model, found in away.items()]
    return Plan(tuple(stages), (*notes, *_notes(aim)), {model: found.as_json() for model, found in away.items()})


def _away(aim: Aim) -> dict[str, Expected]:
    """How long nobody answers for the models that are switched, those that do not answer yet in the mode to come."""
    found = {}
    for model in switched(aim):
        going = [copy for copy in aim.sleeping if copy.model == model and remains(aim, copy)]
        starting = [copy for copy in coming(aim, model) if not aim.active(copy)]
        if starting == coming(aim, model) and (told := expected(aim, going, starting)):
            found[model] = told
    return found


def switched(aim: Aim) -> list[str]:
    """Given the aim, return the models that a switch is about."""
    return [name for name, model in aim.config.models.items() if model.split is not None]


def accepted(aim: Aim) -> frozenset[str]:
    """Given the aim, return the models that may be away for a while: they come back in the mode to come."""
    return frozenset(model for model in switched(aim) if aim.config.backends(model, aim.mode))


def obstacles(aim: Aim) -> list[str]:
    """Given the aim, return a line for each box that does not answer and that the switch cannot do without.

    A group cannot start without all of its boxes, and a copy on a box that is out of reach would go on serving. A
    group, though, is gone with the first of its boxes, and the others may begin with their copies.
    """
    if aim.mode == "replicas":
        return []
    found: dict[str, str] = {}
    for model in switched(aim):
        for part in _absent(aim, aim.config.parts(model)):
            found.setdefault(part.box, f"{part.backend} cannot start without it")
        for copy in _absent(aim, aim.config.copies(model)):
            found.setdefault(copy.box, f"{copy.backend} would go on serving there")
    return [f"{aim.absent[box]}: {why}" for box, why in found.items()]


def _absent(aim: Aim, copies: list[ResolvedCopy]) -> list[ResolvedCopy]:
    return [copy for copy in copies if copy.managed and copy.box in aim.absent]


def _notes(aim: Aim) -> list[str]:
    notes = [f"left as it is: {why}" for why in aim.absent.values()]
    for name, model in aim.config.models.items():
        if model.split is None:
            notes.append(f"{name} runs in both modes: nothing of it is touched")
        elif not aim.config.backends(name, aim.mode):
            notes.append(f"nobody answers for {name} in mode {aim.mode}: floor.yaml has no replicas of it")
    for seen in aim.proxies:
        for copy in (copy for copy in aim.copies if copy.model in switched(aim)):
            notes += [
                f"{copy.backend} stays out of {seen.box}'s pool: drained by {person} (floor undrain {copy.backend})"
                for person in holders.people(seen.drained(copy.backend))
            ]
    return notes
