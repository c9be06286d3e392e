"""From what is to what floor.yaml says: the order in which a deployment changes things."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from floor.plan import holders
from floor.plan.absent import plan_absent
from floor.plan.aim import Aim
from floor.plan.copies import plan_copies
from floor.plan.difference import belongs_to
from floor.plan.firewalls import firewall_notes
from floor.plan.guard import plan_guard, plan_narrowing
from floor.plan.keys import key_notes, plan_forgotten_clients, plan_keys, plan_promotion, plan_settled
from floor.plan.modes import plan_leaving, plan_mode, plan_sleeping
from floor.plan.pools import forgotten
from floor.plan.retire import in_the_way, plan_leaving_groups, plan_retirements, retired
from floor.plan.services import plan_leftovers, plan_services
from floor.plan.serving import Serving
from floor.plan.steps import Plan, Stage, Step, stage
from floor.plan.takeover import adopted, plan_starters


class CopyPlanner(Protocol):
    """How copies become what is wanted: as `plan_copies`."""

    def __call__(
        self, aim: Aim, serving: Serving, leaving: Collection[str] = (), among: Collection[str] | None = None
    ) -> list[Stage]: ...


def plan_deploy(aim: Aim, config_text: str, copies: CopyPlanner = plan_copies) -> Plan:
    """Given the aim, the text of floor.yaml and how copies are changed, return what is left to do; empty when nothing
    is.

    The order: boxes that do not answer kept out, keys that everybody shares, the firewall (wide enough for old and new
    proxies), services (pools know old and new backends), what runs in the other mode alone, copies one by one, what is
    no longer wanted, the firewall as it shall be, and the file. Copies that cannot start beside one that is to go wait
    until it has gone. A pool gets just the new backends as soon as no copy has to be changed any more.
    """
    serving, hindered = Serving(aim), in_the_way(aim)
    leaving = {copy.model for copy in retired(aim)}
    free = [copy.backend for copy in aim.copies if copy.backend not in hindered]
    first = set(hindered.values())
    stages = [
        *plan_absent(aim, serving),
        *plan_keys(aim, serving),
        *plan_starters(aim),
        *plan_leaving_groups(aim),
        *plan_guard(aim),
        *plan_services(aim, serving),
        *plan_sleeping(aim),
        *plan_leaving(aim, serving),
        *plan_mode(aim),
        *_adopt(aim, serving),
        *copies(aim, serving, leaving, free),
        *plan_retirements(aim, serving, first),
        *copies(aim, serving, leaving, hindered),
        *plan_retirements(aim, serving, {copy.backend for copy in retired(aim)} - first),
        *plan_leftovers(aim),
        *plan_narrowing(aim),
        *plan_forgotten_clients(aim),
        *plan_settled(aim),
        *plan_promotion(aim),
        *_record(aim, config_text),
    ]
    return Plan(tuple(stages), tuple(_notes(aim)))


def _adopt(aim: Aim, serving: Serving) -> list[Stage]:
    """Old engines become members as soon as the pools are told of them; those that have been told say who is one."""
    for copy in adopted(aim).values():
        if not aim.knows(copy):
            serving.joins(copy)
    return []


def _record(aim: Aim, text: str) -> list[Stage]:
    why = "it is not the one last deployed"
    lanes = [
        [Step(box, "config.put", {"text": text}, "keep a copy of floor.yaml", why)]
        for box, seen in aim.seen.items()
        if seen.config != text
    ]
    return stage("record the file", *lanes)


def _notes(aim: Aim) -> list[str]:
    notes = [f"afterwards the pools forget {name}" for name in forgotten(aim)]
    notes += [f"left as it is: {why}" for why in aim.absent.values()]
    for box, address in aim.addresses.items():
        if address is None:
            host = aim.config.boxes[box].host
            notes.append(f"{box}: {host} has no address now; what it holds is in no pool until a deployment finds one")
    notes += [*key_notes(aim), *firewall_notes(aim)]
    for copy in aim.copies:
        unit = aim.seen[copy.box].unit(copy.unit)
        notes += [
            f"{copy.backend} was started under {path}, which goes: it keeps what that says until it restarts"
            for path in unit.dropins
            if unit.running and path in aim.seen[copy.box].owned and belongs_to(path) is None
        ]
    for seen in aim.proxies:
        for backend, drains in seen.drains.items():
            notes += [
                f"{backend} stays out of {seen.box}'s pool: drained by {person} (floor undrain {backend})"
                for person in holders.people(drains)
            ]
    return notes
