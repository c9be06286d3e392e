"""Operations on boxes that exist only in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from floor.config.load import Loaded, parse
from floor.config.model import Config
from floor.desired.build import build
from floor.desired.state import BoxFacts, BoxState
from floor.operations import change, site
from floor.operations.change import Change
from floor.operations.deploy import deployment
from floor.operations.execute import Execution
from floor.operations.restart import restart
from floor.operations.site import Site
from tests.unit.operations.world import SimulatedBox, World

TWO_BOXES = """\
boxes:
  spark-a: {host: 192.0.2.11}
  spark-b: {host: 192.0.2.12}
models:
  flagship:
    source: /models/flagship
    utilization: 0.4
    max_requests: 12
    runtime: {kind: docker, image: "registry.example/vllm:v1"}
    replicas: [spark-a, spark-b]
proxy: {boxes: [spark-a, spark-b]}
"""
ONE_BOX = TWO_BOXES.replace("  spark-b: {host: 192.0.2.12}\n", "").replace("[spark-a, spark-b]", "[spark-a]")


_BUILT: dict[tuple[object, ...], dict[str, BoxState]] = {}


def built(config: Config, mode: str, facts: Mapping[str, BoxFacts], release: str) -> dict[str, BoxState]:
    """`build`, once for the same input: these tests plan thousands of times."""
    key = (config.model_dump_json(), mode, tuple(sorted((name, repr(fact)) for name, fact in facts.items())), release)
    if key not in _BUILT:
        _BUILT[key] = build(config, mode, facts, release)
    return _BUILT[key]


@dataclass
class Situation:
    """A world and a floor.yaml for it. Each verb is a new caller, as a new process would be."""

    world: World
    text: str = TWO_BOXES
    said: list[str] = field(default_factory=list)
    progress: list[str] = field(default_factory=list)

    def site(self) -> Site:
        config = parse(self.text)
        facts = {name: BoxFacts(box.host) for name, box in config.boxes.items()}
        self.world.learn(built(config, "replicas", facts, "1"))
        for name in config.boxes:
            if name not in self.world.boxes:
                SimulatedBox(self.world, name)
        boxes = {name: self.world.boxes[name] for name in config.boxes}
        return Site(Loaded(config, self.text, Path("floor.yaml"), ()), boxes, "1", lambda host: host)  # type: ignore[arg-type] # a world's box is a transport

    def deploy(self, *, force: bool = False) -> bool:
        """`floor deploy`. Return whether there was anything to do."""
        return self.run(deployment(self.site(), "replicas", self.said.append, self.progress.append, force=force))

    def restart(self, *names: str, force: bool = False) -> bool:
        """`floor restart`."""
        return self.run(restart(self.site(), names, self.said.append, self.progress.append, force=force))

    def run(self, change: Change) -> bool:
        aim, plan = change.look()
        if plan:
            change.run(aim, plan)
        return bool(plan)

    def starts(self, box: str, unit: str = "floor-copy-flagship.service") -> int:
        """How often a unit has been started on a box."""
        return self.world.boxes[box].starts.count(unit)


@pytest.fixture
def situation(monkeypatch: pytest.MonkeyPatch) -> Situation:
    """Two bare boxes; the clock is the world's, and no lease is kept by a thread."""
    world = World()

    def execution(*given: Any) -> Execution:
        return Execution(*given, clock=world.clock, sleep=world.sleep)

    monkeypatch.setattr(change, "Execution", execution)
    monkeypatch.setattr(site, "build", built)
    return Situation(world)
