"""Contract checks that held in the baseline and do not in the candidate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..contract import names
from ..trial.record import Record
from . import statistics

HELD = 0.95  # the share of the baseline's trials in which a check must have held to count
FEWEST = 2  # failing trials of the candidate
ALPHA = 0.05


@dataclass(frozen=True)
class Broken:
    """A check that broke. `failed` of `tried` candidate trials, `before` of `tried_before` baseline trials.

    `again`: it also broke in the fresh trials. `example` is the first failure's words, from `scenario`.
    """

    check: str
    failed: int
    tried: int
    before: int
    tried_before: int
    again: bool
    example: str
    scenario: str

    @property
    def sentence(self) -> str:
        counts = f"{self.failed} of {self.tried} trials ({self.before} of {self.tried_before} before)"
        return f"{self.check} broke in {counts}, first in {self.scenario}: {self.example}"


def failures(records: Sequence[Record], check: str) -> tuple[list[Record], int]:
    """The trials in which a check failed, and in how many it applied."""
    applied = [one for one in records if check in one.checks]
    return [one for one in applied if one.checks[check]], len(applied)


def broken(baseline: Sequence[Record], first: Sequence[Record], fresh: Sequence[Record]) -> list[Broken]:
    """Given trials of both, return the checks that broke.

    Where the baseline itself failed now and then, the candidate must fail more often than chance allows: a check that
    fails in one trial of a hundred would else block an unchanged build.
    """
    found = []
    for check in names.CHECKS:
        before, tried_before = failures(baseline, check)
        failed, tried = failures([*first, *fresh], check)
        if not tried_before or len(before) > (1 - HELD) * tried_before or len(failed) < FEWEST:
            continue
        chance = statistics.fisher((tried - len(failed), tried), (tried_before - len(before), tried_before))
        twice = len(failures(first, check)[0]) >= FEWEST and bool(failures(fresh, check)[0])
        again = twice and (not before or chance < ALPHA / len(names.CHECKS))
        if not again and (fresh or before) and chance > ALPHA:
            continue
        example = failed[0]
        found.append(
            Broken(check, len(failed), tried, len(before), tried_before, again, example.checks[check], example.scenario)
        )
    return found
