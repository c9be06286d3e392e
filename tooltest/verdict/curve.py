"""The gate's operating curve: how often it says what, for builds whose change is known. The real gate, seeded models.

`python -m floor.tooltest curve` prints it; docs/tooltest.md holds what it printed.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ..contract import names
from ..suite.scenario import KINDS
from ..trial.record import Record, mode
from . import gate

SCENARIOS = tuple(f"{kind}/{number}" for kind in KINDS for number in range(5))
BASELINE, FIRST, FRESH = 10, 3, 5


@dataclass(frozen=True)
class Model:
    """How likely each scenario is done right, and how often a trial breaks a contract check; both 0 to 1."""

    skill: Mapping[str, float]
    faults: float = 0.0

    def trials(self, of: random.Random, start: int, count: int) -> list[Record]:
        """Trials `start` to `start + count` of every scenario."""
        return [
            Record(
                scenario,
                scenario.partition("/")[0],
                trial,
                mode(trial),
                float(of.random() < right),
                checks={names.ARGUMENTS_TEXT: "no JSON object" if of.random() < self.faults else ""},
            )
            for scenario, right in self.skill.items()
            for trial in range(start, start + count)
        ]


def model(of: random.Random, mean: float, unsure: float = 0.4) -> Model:
    """A model of that mean skill. Most scenarios it can or cannot do; a share of `unsure` it does now and then."""
    skill = {}
    for scenario in SCENARIOS:
        if of.random() < unsure:
            skill[scenario] = of.betavariate(4 * mean, 4 * (1 - mean))
        else:
            skill[scenario] = 0.98 if of.random() < mean else 0.04
    return Model(skill)


def weaker(one: Model, points: float) -> Model:
    """The same model, worse by so many points: every scenario loses the same share of what it had."""
    mean = sum(one.skill.values()) / len(one.skill)
    return replace(one, skill={name: right * (1 - points / 100 / mean) for name, right in one.skill.items()})


def without(one: Model, kind: str) -> Model:
    """The same model, one kind of scenario dead."""
    return replace(one, skill={name: 0.0 if name.startswith(f"{kind}/") else p for name, p in one.skill.items()})


def verdict(before: Model, after: Model, of: random.Random) -> str:
    """What the gate says in the end of one candidate."""
    baseline, first = before.trials(of, 0, BASELINE), after.trials(of, 0, FIRST)
    said = gate.decide(baseline, first)
    if said.word == gate.MORE:
        said = gate.decide(baseline, first, after.trials(of, FIRST, FRESH))
    return said.word


def changes(one: Model, of: random.Random) -> Iterator[tuple[str, Model, Model]]:
    """(what changed, before, after) for each row of the curve."""
    yield "nothing", one, one
    flaky = replace(one, faults=0.01)
    yield "nothing; a check fails in 1 of 100 trials of both", flaky, flaky
    for points in (3, 5, 7, 10):
        yield f"{points} points less", one, weaker(one, points)
    good = {kind: sum(p for name, p in one.skill.items() if name.startswith(f"{kind}/")) / 5 for kind in KINDS}
    able = [kind for kind, mean in good.items() if mean >= gate.COLLAPSE_FROM / 100] or [
        max(good, key=good.__getitem__)
    ]
    yield "one kind dead", one, without(one, of.choice(able))
    yield "a check fails in 1 of 20 trials", one, replace(one, faults=0.05)


def curve(gates: int, seed: int = 1, mean: float = 0.8) -> dict[str, Counter[str]]:
    """Given how many gates to try, return for each change how often each verdict came. Each gate has its own model."""
    found: dict[str, Counter[str]] = {}
    for number in range(gates):
        of = random.Random(f"{seed} {number} {mean}")  # noqa: S311 - a simulation
        for name, before, after in changes(model(of, mean), of):
            found.setdefault(name, Counter())[verdict(before, after, of)] += 1
    return found
