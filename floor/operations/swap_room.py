"""Whether the weights of a new build fit into what its engine may take, asked before the old one stops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from floor.desired.state import Kind
from floor.engines import share
from floor.operations.site import Site
from floor.plan.aim import Aim, Part
from floor.sizes import told_size

LOOK_SECONDS = 60.0
PARALLEL = ("tensor-parallel-size", "pipeline-parallel-size")


def too_large(site: Site, aim: Aim, model: str) -> list[str]:
    """Given the site and what was seen, return `BOX: found; what to do` for each copy of the model whose weights alone
    are larger than its share of the memory that its cards have, each card or, where they share it, the box.

    Nothing is said where the engine has no share, and where no card is known.
    """
    found = []
    for part in (part for copy in aim.copies if copy.model == model for part in copy.parts):
        resolved, room = part.resolved, _room(aim.seen[part.box].facts)
        if resolved.utilization is None or room is None or not resolved.source.startswith("/"):
            continue
        asked = {"folders": [resolved.source], "images": [], "tasks": []}
        told = site.boxes[part.box].call("fetch.look", asked, timeout=LOOK_SECONDS)
        size = (told["folders"].get(resolved.source) or {}).get("bytes") or 0
        each, limit = size / _cards(aim, part), resolved.utilization * room
        if each > limit:
            found.append(
                f"{part.box}: the weights in {resolved.source} take {told_size(int(each))} of each card, the share of "
                f"{resolved.backend} is {told_size(int(limit))} ({resolved.utilization:g} of {told_size(room)}); give "
                "it a larger utilization, or a smaller build"
            )
    return found


def _room(facts: Mapping[str, Any]) -> int | None:
    """Bytes that a share is of; None where the box tells of no card."""
    cards = facts.get("gpus") or []
    return share.whole(cards, facts.get("memory") or {}) if cards else None


def _cards(aim: Aim, part: Part) -> int:
    """Over how many cards the layers of a copy, or of its whole group, are spread."""
    split = aim.config.models[part.resolved.model].split
    if part.state.kind is Kind.GROUP and split is not None:
        return split.ranks
    found = 1
    for name in PARALLEL:
        many = part.resolved.args.get(name, 1)
        found *= many if isinstance(many, int) and many > 0 else 1
    return found
