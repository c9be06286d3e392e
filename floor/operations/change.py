"""The one loop that carries out a plan: look, plan, run the first stage, look again, until nothing is left to do."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from floor.errors import BoxError, FloorError, RefusedError
from floor.operations import caller
from floor.operations.execute import LOST_POLL, LOST_SECONDS, Execution
from floor.operations.lease import Lease
from floor.operations.site import Site
from floor.plan import held
from floor.plan.abandoned import digest
from floor.plan.aim import Aim
from floor.plan.steps import Plan, Stage

SAME = 3  # how often one and the same stage may come up: more, and what it does is not what is looked at


@dataclass
class Change:
    """One changing verb. `planner` is pure and plans from what is seen, so that any interruption can be resumed.

    `problems` returns what would make it fail halfway, a line each. `force` accepts that a model is away for a while;
    for the models in `accepted` that is what was asked for. A `switch` to `mode` accepts boxes in the other one.
    `resumes` says that it goes on with one that was left: then that one has to be ended, whatever is left to do.
    `also` adds to what was observed. `begins` is called once nothing stands against it any more and the boxes are held,
    before anything there is changed.
    """

    verb: str
    site: Site
    mode: str | None
    planner: Callable[[Aim], Plan]
    say: Callable[[str], None]
    progress: Callable[[str], None]
    target: Any = None
    force: bool = False
    problems: Callable[[Aim], list[str]] = lambda _: []
    resumes: bool = False
    also: Callable[[Aim], Aim] = lambda aim: aim
    switch: bool = False
    accepted: frozenset[str] = frozenset()
    begins: Callable[[], None] = lambda: None

    def look(self) -> tuple[Aim, Plan]:
        """Observe, and plan from that."""
        aim = self.observe(patience=LOST_POLL)
        return aim, self._plan(aim)

    def _plan(self, aim: Aim) -> Plan:
        return held.opened(aim, self.planner(aim), force=self.force)

    def observe(self, among: Collection[str] | None = None, patience: float = 0.0) -> Aim:
        """Look at the boxes, or at those `among` them, as this operation does."""
        aim = self.site.observe(self.mode, among=among, patience=patience, switch=self.switch)
        return self.also(dataclasses.replace(aim, holder=f"{self.verb} by {caller.name()}"))

    def _look_again(self, boxes: Collection[str], away: Mapping[str, str]) -> tuple[Aim, Plan]:
        """Observe the boxes that take part, and plan from that.

        One that did not answer at the beginning holds no epoch: it is not asked any more. One that does not answer now
        may be back in a moment.
        """
        since = None
        while True:
            aim = self.observe(boxes)
            lost = [why for box, why in aim.absent.items() if box in boxes]
            if not lost:
                break
            since = self.site.clock() if since is None else since
            if self.site.clock() - since > LOST_SECONDS:
                raise BoxError("lost in the middle: " + "\n".join(lost) + "\nrun the same command again")
            self.progress(f"  {', '.join(lost)}; trying again")
            self.site.sleep(LOST_POLL)
        aim = dataclasses.replace(aim, absent={**aim.absent, **away})
        return aim, self._plan(aim)

    def run(self, aim: Aim, plan: Plan) -> Aim:
        """Carry out `plan`, which was made from `aim`, and all that turns out to be left after it. Return what was seen
        at the end.

        Raise RefusedError where the last serving copy would be taken, or one started that the guard keeps down, and
        `force` is not given, BusyError where somebody else holds the boxes, FloorError with where it stopped and why.
        """
        self.refuse_outage(plan)
        _refuse_held(aim, plan)
        if found := self.problems(aim):
            raise FloorError("nothing was changed:\n" + "\n".join(f"  {line}" for line in found))
        with Lease(self.site, aim.seen, self.verb, self.target, digest(self.site.loaded.text)) as lease:
            try:
                self.begins()
                last = self._converge(Execution(self.site, lease, self.say, self.progress), aim)
            except KeyboardInterrupt:
                lease.state = "interrupted"
                raise
            lease.state = "done"
        return last

    def _converge(self, execution: Execution, first: Aim) -> Aim:
        """Bring about what the planner wants of the boxes that answered at first. Return what was seen at the end."""
        done: list[Stage] = []
        while True:
            aim, plan = self._look_again(first.seen, first.absent)
            if not plan:
                return aim
            for now in plan.first:
                if done.count(now) >= SAME or (done and done[-1] == now):
                    raise FloorError(_stuck(now))
                self.refuse_outage(Plan((now,)))
                _refuse_held(aim, Plan((now,)))
                execution.stage(now)
                done.append(now)

    def refuse_outage(self, plan: Plan) -> None:
        """Raise RefusedError where `plan` takes the last serving copy of a model and `force` is not given."""
        outage = [model for model in plan.outage if model not in self.accepted]
        if self.force or not outage:
            return
        gone = [model for model in outage if model not in self.site.loaded.config.models]
        away = [model for model in outage if model not in gone]
        found = []
        if away:
            found.append(
                f"this takes the last serving copy of {', '.join(away)}: nobody answers for it until another is warm; "
                "add a second copy, or accept the outage with --force"
            )
        if gone:
            found.append(
                f"floor.yaml no longer has {', '.join(gone)}, which serves now: who asks for it gets no answer any "
                "more; accept that with --force"
            )
        raise RefusedError("\n".join(found))


def _refuse_held(aim: Aim, plan: Plan) -> None:
    """Raise RefusedError where `plan` starts what the guard keeps down."""
    if found := held.refusals(aim, plan):
        raise RefusedError("\n".join(found))


def _stuck(stage: Stage) -> str:
    steps = "; ".join(f"{step.box}: {step.text}" for step in stage.steps)
    return (
        f"{stage.title}: done, and yet the boxes look as if it were not ({steps}); see `floor events` and `floor logs`"
    )
