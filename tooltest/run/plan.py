"""Which trials a run makes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil

from ..suite.filled import Filled, content, fill
from ..suite.scenario import QUICK, Scenario
from ..trial.record import mode

TOKENS_OF_A_STEP = 4000  # that many prompt tokens take about as long as the rest of a short trial
LEAST_ANSWER = 256  # tokens that must be left for an answer
BYTES_PER_TOKEN = 3.0  # of English and JSON: fewer than any tokeniser in use needs, so that a prompt is never too long


@dataclass(frozen=True)
class Tier:
    """`each`: scenarios of a kind (None: all). `trials`: of each. `load`: whether the load probes run as well."""

    name: str
    each: int | None
    trials: int
    load: bool = False


TIERS = {one.name: one for one in (Tier("quick", QUICK, 1), Tier("gate", None, 3), Tier("deep", None, 5, load=True))}
FRESH = 5  # further trials of each scenario where the first ones leave it open
BASELINE = 10


@dataclass(frozen=True)
class Trial:
    """One to be made, streamed or whole, with so many tokens at most for each answer.

    `weight`: how long it takes beside others, as far as its prompt tells.
    """

    scenario: Scenario
    number: int
    mode: str
    most: int
    weight: float = 1.0

    def filled(self, seed: int) -> Filled:
        """The scenario with the values of this trial."""
        return fill(self.scenario, seed, self.number)


def scenarios(suite: Sequence[Scenario], each: int | None) -> list[Scenario]:
    """The first `each` of every kind; all of them for None."""
    taken: dict[str, int] = {}
    chosen = []
    for scenario in suite:
        taken[scenario.kind] = taken.get(scenario.kind, 0) + 1
        if each is None or taken[scenario.kind] <= each:
            chosen.append(scenario)
    return chosen


def needs(scenario: Scenario) -> int:
    """Tokens of the longest prompt of a scenario, from above."""
    filled = fill(scenario, 0, 0).scenario
    texts = [json.dumps(filled.tools), filled.system, json.dumps(filled.history)]
    for turn in filled.turns:
        texts += [turn.user, *(content(call.result) for call in turn.calls)]
    return ceil(sum(len(text.encode()) for text in texts) / BYTES_PER_TOKEN) + 200


def left_out(chosen: Iterable[Scenario], context: int | None) -> list[str]:
    """Ids of the scenarios that do not fit a context of so many tokens; none where it is not known."""
    return [one.id for one in chosen if context is not None and needs(one) + LEAST_ANSWER > context]


def trials(
    suite: Sequence[Scenario], chosen: Sequence[Scenario], numbers: range, *, context: int | None, most: int
) -> list[Trial]:
    """The trials `numbers` of each chosen scenario that fits, first trials of all first. `most` tokens an answer."""
    places = {scenario.id: place for place, scenario in enumerate(suite)}
    prompts = {one.id: needs(one) for one in chosen}
    fitting = [one for one in chosen if context is None or prompts[one.id] + LEAST_ANSWER <= context]
    return [
        Trial(
            one, number, mode(number, places[one.id]), _room(most, prompts[one.id], context), _weight(prompts[one.id])
        )
        for number in numbers
        for one in fitting
    ]


def _room(most: int, prompt: int, context: int | None) -> int:
    return most if context is None else min(most, context - prompt)


def _weight(prompt: int) -> float:
    return 1 + prompt / TOKENS_OF_A_STEP
