"""What came of a changing verb, for a person and as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from floor.operations.checks import Finding
from floor.plan import show
from floor.plan.steps import Plan


@dataclass(frozen=True)
class Outcome:
    """`plan` is what there was to do at the beginning, `changed` whether anything was done of it.

    `complete` is False where a box that was meant did not answer, or where a check failed afterwards. `carried` has a
    line for each box that got another release of floor, or would get it.
    """

    plan: Plan
    changed: bool = False
    complete: bool = True
    carried: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def pending(self) -> bool:
        """Whether a dry run has found something to do."""
        return bool(self.plan) or bool(self.carried)

    def lines(self) -> list[str]:
        """What a dry run would do, or why there is nothing to do. What was done has been told as it went."""
        if self.carried and not self.plan and not self.changed:
            return [*self.carried, "the rest is planned by the new release, once it is there"]
        if self.plan:
            return show.lines(self.plan)
        notes = [f"note: {note}" for note in self.plan.notes]
        return [*notes, "nothing to do" if self.complete else "nothing to do on the boxes that answer"]

    def as_json(self) -> dict[str, Any]:
        """As an object: {"stages", "notes", "carried", "changed", "complete", "checks": [{"ok", "where", "what"}]}."""
        return {
            **show.as_json(self.plan),
            "carried": list(self.carried),
            "changed": self.changed,
            "complete": self.complete,
            "checks": [vars(finding) for finding in self.findings],
        }
