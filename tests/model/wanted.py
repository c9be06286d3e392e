"""What a floor.yaml asks of simulated boxes, compared without any planner."""

from __future__ import annotations

import json

from floor.box import paths
from floor.desired.state import BoxFacts, BoxState, Kind
from floor.plan import holders
from tests.simulated.box import SimulatedBox
from tests.simulated.situation import Situation, built, configured


def differences(situation: Situation, mode: str = "replicas") -> list[str]:
    """Every way in which the boxes are not as the situation's floor.yaml says in a mode, in words."""
    config = configured(situation.text)
    facts = {name: BoxFacts(situation.resolve(box.host)) for name, box in config.boxes.items()}
    found: list[str] = []
    for name, state in built(config, mode, facts, situation.release).items():
        box = situation.box(name)
        found += [f"{name}: {what}" for what in (*_files(box, state), *_units(box, state))]
        if box.config != situation.text:
            found.append(f"{name}: keeps another floor.yaml")
    return found + out_of_pools(situation, mode)


def out_of_pools(situation: Situation, mode: str = "replicas") -> list[str]:
    """Copies that a pool does not have although nobody drained them, and those that it has although somebody did."""
    config = configured(situation.text)
    found = []
    for proxy in config.proxy.boxes:
        box = situation.box(proxy)
        for model in config.models:
            held = {name for name, drains in box.recorded.items() if holders.people(drains)}
            wanted = {copy.backend for copy in config.backends(model, mode)} - held
            if (there := situation.world.answering(proxy, model)) != wanted:
                found.append(f"{proxy}: {sorted(there)} answer for {model}, wanted {sorted(wanted)}")
    return found


def _files(box: SimulatedBox, state: BoxState) -> list[str]:
    wanted = {file.path: file.text for file in state.files}
    found = [f"{path} differs" for path, text in wanted.items() if box.text(path) != text]
    return found + [f"{path} is not wanted" for path in box.files if path not in wanted]


def _units(box: SimulatedBox, state: BoxState) -> list[str]:
    found = []
    for unit in state.units:
        if unit.kind is Kind.ROUND:
            continue  # its timer starts it, and nobody else
        process = box.processes.get(unit.name)
        if unit.name not in box.enabled:
            found.append(f"{unit.name} is not enabled")
        if not unit.runs(state.mode):
            found += [f"{unit.name} runs in mode {state.mode}"] if process is not None else []
            continue
        if box.state(unit.name) != "active" or process is None:
            found.append(f"{unit.name} is {box.state(unit.name)}")
        elif unit.launch.digest not in (process.digest, "") and unit.launch.argv:
            found.append(f"{unit.name} runs another build")
        if unit.name == "floor-pool.service" and process is not None:
            settings = json.loads(box.text(paths.POOL_SETTINGS) or "{}")
            if process.settings != settings:
                found.append(f"{unit.name} has not read its settings")
    names = {unit.name for unit in state.units}
    found += [f"{name} runs" for name in box.processes if name not in names]
    return found + [f"{name} is enabled" for name in box.enabled if name not in names]
