"""What would make a deployment fail halfway, found before anything stops."""

from __future__ import annotations

from floor.desired.state import BoxState, Kind
from floor.plan.aim import Aim, Copy
from floor.plan.seen import Seen


def problems(aim: Aim) -> list[str]:
    """Given the aim, return one line for each thing that a box lacks: `BOX: what was found; what to do`."""
    found: list[str] = []
    for box, state in aim.wanted.items():
        if box in aim.seen:
            found += _programs(aim.seen[box], state)
    for copy in aim.copies():
        if copy.box in aim.seen:
            found += _copy(aim, copy, aim.seen[copy.box])
    return found


def _programs(seen: Seen, state: BoxState) -> list[str]:
    found = []
    if any(unit.kind is Kind.PROXY for unit in state.units) and not seen.facts.get("nginx"):
        found.append(f"{seen.box}: nginx is not installed; run `floor setup {seen.box}`")
    if any(unit.launch.image for unit in state.units) and not seen.facts.get("docker"):
        found.append(f"{seen.box}: docker is not installed; install it, or write `runtime: {{kind: native, …}}`")
    return found


def _copy(aim: Aim, copy: Copy, seen: Seen) -> list[str]:
    wanted = next(each for each in aim.config.copies(copy.model) if each.backend == copy.backend)
    found = []
    image = copy.unit.launch.image
    if image and seen.facts.get("docker") and not seen.images.get(image):
        found.append(f"{seen.box}: there is no image {image}; pull or load it there, nothing is fetched while serving")
    if wanted.source.startswith("/") and seen.paths.get(wanted.source) is False:
        found.append(f"{seen.box}: there is no {wanted.source} ({copy.backend}); copy the weights there")
    holder = seen.listening.get(str(wanted.port))
    unit = seen.unit(copy.unit.name)
    if holder and not unit.running:
        found.append(
            f"{seen.box}: port {wanted.port} of {copy.backend} is held by {holder.get('command')} "
            f"(pid {holder.get('pid')}); stop it, or write another `port`"
        )
    return found
