"""The one loop that carries out a plan: look, plan, run the first stage, look again, until nothing is left to do."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from floor.errors import FloorError, RefusedError
from floor.operations.execute import Execution
from floor.operations.lease import Lease, caller
from floor.operations.nginx import nginx_refusals
from floor.operations.site import Site
from floor.plan import preflight
from floor.plan.aim import Aim
from floor.plan.steps import Plan, Stage

ROUNDS = 200  # far beyond any plan; a loop that ends there is a defect and says so


@dataclass
class Change:
    """One changing verb. `planner` is pure and plans from what is seen, so that any interruption can be resumed."""

    verb: str
    site: Site
    mode: str | None
    planner: Callable[[Aim], Plan]
    say: Callable[[str], None]
    progress: Callable[[str], None]
    target: Any = None
    force: bool = False
    checks: bool = True

    def look(self) -> tuple[Aim, Plan]:
        """Observe, and plan from that."""
        who = caller()
        aim = dataclasses.replace(self.site.observe(self.mode), holder=f"{self.verb} by {who['user']}@{who['host']}")
        return aim, self.planner(aim)

    def run(self, aim: Aim, plan: Plan) -> None:
        """Carry out `plan`, which was made from `aim`, and all that turns out to be left after it.

        Raise RefusedError where the last serving copy would be taken and `force` is not given, BusyError where
        somebody else holds the boxes, FloorError with where it stopped and why.
        """
        self._refuse_outage(plan)
        self._preflight(aim)
        text = hashlib.sha256(self.site.loaded.text.encode()).hexdigest()
        with Lease(self.site, aim.seen, self.verb, self.target, text) as lease:
            try:
                self._converge(Execution(self.site, lease, self.say, self.progress))
            except KeyboardInterrupt:
                lease.state = "interrupted"
                raise
            lease.state = "done"

    def _converge(self, execution: Execution) -> None:
        before: Stage | None = None
        for _ in range(ROUNDS):
            _, plan = self.look()
            if not plan:
                return
            now = plan.stages[0]
            if now == before:
                raise FloorError(_stuck(now))
            self._refuse_outage(Plan((now,)))
            execution.stage(now)
            before = now
        raise FloorError(f"still not as wanted after {ROUNDS} stages; this is a defect of floor, please report it")

    def _refuse_outage(self, plan: Plan) -> None:
        if plan.outage and not self.force:
            models = ", ".join(plan.outage)
            raise RefusedError(
                f"this takes the last serving copy of {models}: nobody answers for it until the new one is warm; "
                "add a second copy, or accept the outage with --force"
            )

    def _preflight(self, aim: Aim) -> None:
        if not self.checks:
            return
        found = preflight.problems(aim)
        for seen in aim.proxies:
            if seen.facts.get("nginx"):  # where it is missing, that has been named already
                found += nginx_refusals(self.site, aim.wanted[seen.box])
        if found:
            raise FloorError("nothing was changed:\n" + "\n".join(f"  {line}" for line in found))


def _stuck(stage: Stage) -> str:
    steps = "; ".join(f"{step.box}: {step.text}" for step in stage.steps)
    return (
        f"{stage.title}: done, and yet the boxes look as if it were not ({steps}); see `floor events` and `floor logs`"
    )
