"""What others run on the boxes: looked for before anything changes, and with `--take-over` part of the plan."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

from floor.errors import BoxError
from floor.operations.site import Site
from floor.plan.aim import Aim
from floor.plan.foreign import Met, meet
from floor.plan.starters import ports
from floor.plan.steps import Plan
from floor.plan.takeover import hindered

HOW = (
    "`floor deploy --take-over` stops and disables what is not floor's, and `floor remove` brings it back; "
    "--force leaves what only may start or stop engines"
)


@dataclass
class Meeting:
    """What was met when the boxes were looked at for the last time. Nothing of it is touched unless `take_over`."""

    site: Site
    take_over: bool
    met: dict[str, Met] = field(default_factory=dict)

    def into(self, aim: Aim) -> Aim:
        """Given what was just observed, return it with what is to be taken over."""
        if not self.take_over:
            return aim
        self.met = meetings(self.site, aim)
        return dataclasses.replace(aim, foreign={box: tuple(met.things) for box, met in self.met.items()})

    def told(self, aim: Aim, plan: Plan) -> Plan:
        """Given a plan, return it with a note for all that was met and that it does not deal with."""
        if not plan:
            return plan
        if not self.take_over:
            self.met = meetings(self.site, aim)
        notes = [note for met in self.met.values() for note in met.notes]
        if not self.take_over:
            notes += [f"in the way: {thing.line}" for met in self.met.values() for thing in met.things]
        return dataclasses.replace(plan, notes=(*plan.notes, *notes))

    def problems(self, aim: Aim, *, force: bool) -> list[str]:
        """What keeps the plan from being carried out, a line each. With `force` what only may start or stop engines
        does not: it has been told."""
        if self.take_over:
            return hindered(aim.foreign)
        every = [thing for met in self.met.values() for thing in met.things]
        found = [thing.line for thing in every if thing.holds or not force]
        return [*found, HOW] if found else []

    def held(self) -> set[tuple[str, int]]:
        """The ports that these things hold, by box: told already."""
        every = ((box, thing.port) for box, met in self.met.items() for thing in met.things)
        return {(box, port) for box, port in every if port is not None}


def meetings(site: Site, aim: Aim) -> dict[str, Met]:
    """Given the aim, look at every box that answers. Raise BoxError where one cannot tell."""
    found = {}
    for box, told in site.each(
        aim.seen, lambda box, there: there.call("foreign.look", {"ports": ports(aim, box)})
    ).items():
        if isinstance(told, BoxError):
            raise told
        found[box] = meet(aim, box, told)
    return found
