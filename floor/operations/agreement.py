"""Asks the boxes of each group that is to start whether they are of one mind, and whether they reach each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from floor.box import paths
from floor.config.model import Config
from floor.errors import BoxError
from floor.operations.site import Site
from floor.plan import agreement
from floor.plan.agreement import Group
from floor.plan.aim import Aim
from floor.plan.steps import Plan

Say = Callable[[str], None]
Told = dict[str, dict[str, Any]]
SECONDS = 15.0  # of a meeting: the slowest way to a box by ssh, and a few attempts
LOOK_SECONDS = 90.0
DISTRIBUTION = "vllm"


def starting(config: Config, plan: Plan) -> list[str]:
    """Given the config and a plan, return the models whose group it starts, on whichever box."""
    started = {step.params["unit"] for stage in plan.stages for step in stage.steps if step.call == "unit.start"}
    return [name for name, model in config.models.items() if model.split and f"floor-group-{name}.service" in started]


def group(config: Config, model: str) -> Group | None:
    """Given a model's name, return its group as its boxes have to agree on it; None where one of them has no fabric."""
    split, parts = config.models[model].split, config.parts(model)
    fabric = {box: link for box in (split.boxes if split else ()) if (link := config.boxes[box].fabric)}
    if split is None or len(fabric) < len(split.boxes):
        return None
    runtime = parts[0].runtime
    return Group(
        model=model,
        fabric=fabric,
        master_port=split.master_port,
        tensor=split.tensor_parallel or 1,
        stages=tuple(split.pipeline or ()),
        source=parts[0].source,
        image=runtime.image if runtime and runtime.kind == "docker" else None,
        fetched=parts[0].fetch is not None,
    )


def disagreements(site: Site, aim: Aim, models: Iterable[str], say: Say, progress: Say, *, force: bool) -> list[str]:
    """Given the aim and models whose groups are to start, return `BOX: found; what to do` for each thing that would
    keep their ranks from meeting, or from being ranks of one model. With `force` it is said, and nothing is refused.

    A box that does not answer is asked nothing: whoever needs it refuses elsewhere.
    """
    groups = [one for model in models if (one := group(site.loaded.config, model))]
    if not groups:
        return []
    progress(f"  boxes of {', '.join(one.model for one in groups)}: comparing builds, meeting on the fabric")
    found = [line for one in groups for line in _group(site, aim, one)]
    for line in found if force else ():
        say(f"note: {line}; going on as --force asks")
    return [] if force else found


def _group(site: Site, aim: Aim, one: Group) -> list[str]:
    boxes = [box for box in one.boxes if box in aim.seen]
    command = site.loaded.config.parts(one.model)[0].runtime
    words = command.command if command and command.kind == "native" else None

    def look(box: str, transport: Any) -> Any:
        asked = {"interface": one.fabric[box].interface, "source": one.source, "command": words}
        return transport.call("fabric.look", {**asked, "distribution": DISTRIBUTION}, timeout=LOOK_SECONDS)

    looks = _answers(site.each(boxes, look))
    images = {box: aim.seen[box].images.get(one.image) for box in looks} if one.image else {}
    lacking = [box for box, told in looks.items() if not told["weights"]["files"]]
    told = {box: look for box, look in looks.items() if box not in lacking}  # named already, with what brings them
    found = [*agreement.links(one, looks), *agreement.builds(one, told, images)]
    return found or _meeting(site, aim, one, boxes)


def _meeting(site: Site, aim: Aim, one: Group, boxes: list[str]) -> list[str]:
    spare = agreement.spare_port(aim.seen[box].listening for box in boxes)
    # Ranks that run have their port, and are not to be disturbed: whoever else has it is named by preflight.
    taken = any(str(one.master_port) in aim.seen[box].listening for box in boxes)
    ports = [spare] if taken else [one.master_port, spare]

    def meet(box: str, transport: Any) -> Any:
        peers = [one.fabric[other].address for other in boxes if other != box]
        asked = {"address": one.fabric[box].address, "ports": ports, "peers": peers}
        return transport.call("fabric.meet", {**asked, "seconds": SECONDS}, timeout=SECONDS + 30)

    answers = _answers(site.each(boxes, meet))
    return agreement.meetings(one, answers, ports, [box for box in boxes if _unsettled(aim, box)])


def _unsettled(aim: Aim, box: str) -> bool:
    """Whether floor's own rules there are to become others before the ranks start."""
    wanted, there = aim.wanted[box].file(str(paths.FIREWALL)), aim.seen[box].files.get(str(paths.FIREWALL))
    return there is not None and (wanted is None or wanted.sha256 != there.sha256)


def _answers(found: Mapping[str, Any]) -> Told:
    """Raise BoxError for a box that failed: what it would have told is not known."""
    failed = [str(answer) for answer in found.values() if isinstance(answer, BoxError)]
    if failed:
        raise BoxError("\n".join(failed))
    return dict(found)
