"""How long planning takes for a large floor: 64 boxes with 8 models on each, against PyYAML reading the same file.

python benchmarks/plan.py [--boxes 64] [--models 8] [--rounds 5]

`render` is from the config to every file of every box, `deploy` the plan for bare boxes, `edit` the plan for boxes that
run it all but for one option of one model. The goal is 1 s for rendering and a plan together.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from typing import TypeVar

import yaml

from floor.config.load import parse
from floor.config.model import Config
from floor.desired.build import build
from floor.desired.state import BoxFacts, BoxState, Kind
from floor.plan.aim import Aim
from floor.plan.deploy import plan_deploy
from floor.plan.seen import FileSeen, Seen, UnitSeen
from floor.plan.steps import Plan

GOAL = 1.0
Made = TypeVar("Made")
RELEASE = "0.1.0+0123456789ab"


def floor_yaml(boxes: int, models: int, cap: int) -> str:
    """Given the size, and the request cap of the first model, return a floor.yaml with every model on every box."""
    names = [f"box-{number:03}" for number in range(boxes)]
    runtime = {"kind": "docker", "image": f"registry.example/vllm@sha256:{'0' * 64}"}
    return yaml.safe_dump(
        {
            "boxes": {name: {"host": f"192.0.2.{number + 1}"} for number, name in enumerate(names)},
            "models": {
                f"model-{number}": {
                    "source": f"/models/{number}",
                    "utilization": 0.8 / models,
                    "max_requests": 12 if number else cap,
                    "port": 8000 + number,
                    "listen": 8200 + number,
                    "runtime": runtime,
                    "args": {"speculative-config": {"method": "mtp", "num_speculative_tokens": 4}},
                    "replicas": list(names),
                }
                for number in range(models)
            },
            "proxy": {"boxes": names[:2]},
        }
    )


def facts(config: Config) -> dict[str, BoxFacts]:
    return {name: BoxFacts(box.host) for name, box in config.boxes.items()}


def running(state: BoxState, text: str, pools: Mapping[str, list[str]]) -> Seen:
    """Given what a box must hold, return how it looks when it holds and serves just that."""
    units = {
        unit.name: UnitSeen(
            unit.name,
            active="active",
            sub="running",
            enabled="enabled",
            argv=(f"nginx: master process {' '.join(unit.launch.argv)}",)
            if unit.kind is Kind.PROXY
            else unit.launch.argv,
            env={**unit.launch.env, "FLOOR_LAUNCH": unit.launch.digest},
            main_started=2.0,
            youngest_child=2.0,
        )
        for unit in state.units
    }
    told = {
        model: {"members": names, "backends": {name: {"member": True} for name in names}}
        for model, names in pools.items()
    }
    return Seen(
        state.box,
        mode="replicas",
        config=text,
        files={file.path: FileSeen(file.sha256, file.mode, file.owner, 1.0) for file in state.files},
        texts={file.path: file.text for file in state.files},
        owned=tuple(file.path for file in state.files),
        units=units,
        pool={"pools": told},
        secrets="a fingerprint",
    )


def timed(make: Callable[[], Made]) -> tuple[Made, float]:
    began = time.perf_counter()
    made = make()
    return made, time.perf_counter() - began


def once(before: str, after: str) -> tuple[dict[str, float], Plan]:
    """Given two floor.yamls, return the seconds of each part and the plan from the one to the other."""
    _, reading = timed(lambda: yaml.safe_load(before))
    old, config = parse(before, "floor.yaml"), parse(after, "floor.yaml")
    wanted, render = timed(lambda: build(config, "replicas", facts(config), RELEASE))
    bare = {box: Seen(box) for box in wanted}
    _, deploy = timed(lambda: plan_deploy(Aim(config, wanted, bare), after))
    pools = {model: [copy.backend for copy in old.copies(model)] for model in old.models}
    present = build(old, "replicas", facts(old), RELEASE)
    seen = {box: running(state, before, pools) for box, state in present.items()}
    plan, edit = timed(lambda: plan_deploy(Aim(config, wanted, seen), after))
    return {"PyYAML reads it": reading, "render": render, "deploy": deploy, "edit": edit}, plan


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--boxes", type=int, default=64)
    parser.add_argument("--models", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    before, after = (floor_yaml(given.boxes, given.models, cap) for cap in (12, 10))
    rounds = []
    for _ in range(given.rounds):
        times, plan = once(before, after)
        rounds.append(times)
    changes = sum(stage.title.startswith("change ") for stage in plan.stages)
    if changes != given.boxes:
        print(f"the plan of the edit changes {changes} copies, not {given.boxes}", file=sys.stderr)
        return 1
    middle = {name: statistics.median(times[name] for times in rounds) for name in rounds[0]}
    for name, seconds in middle.items():
        print(f"{name:16} {seconds * 1000:6.0f} ms  {seconds / middle['PyYAML reads it']:5.2f} x")
    worst = middle["render"] + max(middle["deploy"], middle["edit"])
    print(f"render and the longer plan: {worst:.2f} s; goal {GOAL:g} s")
    return 0 if worst <= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
