"""Three to six boxes with several models, any change of them, and several faults one after the other."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from tests.model import commands, faults
from tests.model.wanted import differences
from tests.simulated.caller import Caller
from tests.simulated.situation import Situation

SEEDS = (*range(40), 214)
FALLS = (
    faults.killed,
    faults.lost,
    faults.lost,
    faults.away_for_a_moment,
    faults.away,
    faults.power_cut,
    faults.slept,
)


@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_happens_the_same_command_finishes(situation: Situation, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 # not for secrets
    fleet = Fleet(chance)
    situation.text = fleet.text()
    assert commands.deploy(situation) == 0, situation.said[-3:]
    situation.world.guarded = frozenset(fleet.replicas)
    fleet.change()
    situation.text = fleet.text()
    for _ in range(3):
        situation.fate = falling(situation, chance)
        if commands.deploy(situation) == 0:
            break
        situation.world.sleep(chance.choice([5.0, 150.0]), 5)
    situation.world.sleep(200, 10)
    assert commands.deploy(situation) == 0, situation.said[-3:]
    assert situation.world.wrong == []
    assert differences(situation) == []
    before = len(situation.world.log)
    assert commands.deploy(situation) == 0
    assert {line.split()[1] for line in situation.world.log[before:]} == {"observe"}


def falling(situation: Situation, chance: random.Random) -> Caller:
    """A process to which up to three things happen."""
    moments = sorted(chance.sample(range(1, 400), 3))
    caller = Caller(0, moments[0])

    def then(box: str) -> None:
        caller.at = next((at for at in moments if at > len(caller.asked)), None)
        caller.after = chance.random() < 0.5
        chance.choice(FALLS)(situation, box)

    caller.then = then
    return caller


class Fleet:
    """Boxes with several models; each model has two copies at least."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.boxes = [f"box-{number}" for number in range(chance.randint(3, 6))]
        self.proxies = chance.sample(self.boxes, 2)
        self.replicas = {f"model-{number}": self._some() for number in range(chance.randint(2, 3))}
        self.requests = dict.fromkeys(self.replicas, 8)

    def change(self) -> None:
        """Another number of requests for some models, and other boxes for some."""
        for model in self.replicas:
            if self.chance.random() < 0.7:
                self.requests[model] += 1
            if self.chance.random() < 0.5:
                self.replicas[model] = self._some()

    def text(self) -> str:
        boxes = "".join(f"  {box}: {{host: 192.0.2.{number}}}\n" for number, box in enumerate(self.boxes, start=11))
        models = "".join(self._model(number, name) for number, name in enumerate(self.replicas))
        return f"boxes:\n{boxes}models:\n{models}proxy: {{boxes: [{', '.join(self.proxies)}]}}\n"

    def _model(self, number: int, name: str) -> str:
        where: Sequence[str] = self.replicas[name]
        return f"""\
  {name}:
    source: /models/{name}
    utilization: 0.15
    max_requests: {self.requests[name]}
    port: {8000 + number}
    listen: {8080 + number}
    runtime: {{kind: docker, image: "registry.example/vllm:v1"}}
    replicas: [{", ".join(where)}]
"""

    def _some(self) -> list[str]:
        return sorted(self.chance.sample(self.boxes, self.chance.randint(2, min(3, len(self.boxes)))))
