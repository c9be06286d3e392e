"""Whether the weights of a new build fit into what its engine may take, asked before the old one stops."""

from __future__ import annotations

from floor.operations.site import Site
from floor.plan.aim import Aim
from floor.plan.fetch import told_size


def too_large(site: Site, aim: Aim, model: str) -> list[str]:
    """Given the site and what was seen, return `BOX: found; what to do` for each copy of the model whose weights alone
    are larger than its share of the box's memory. Nothing is said where the engine has no share, or on a box that has
    cards of their own memory: floor does not know that."""
    found = []
    for part in (part for copy in aim.copies if copy.model == model for part in copy.parts):
        resolved, seen = part.resolved, aim.seen[part.box]
        total = (seen.facts.get("memory") or {}).get("total")
        if resolved.utilization is None or not total or not resolved.source.startswith("/"):
            continue
        told = site.boxes[part.box].call(
            "fetch.look", {"folders": [resolved.source], "images": [], "tasks": []}, timeout=60
        )
        size = (told["folders"].get(resolved.source) or {}).get("bytes") or 0
        ranks = site.loaded.config.models[model].split
        share = size / (
            ranks.ranks if ranks and len(site.loaded.config.parts(model)) and part.state.kind == "group" else 1
        )
        if share > resolved.utilization * total:
            found.append(
                f"{part.box}: the weights in {resolved.source} are {told_size(int(share))}, the share of "
                f"{resolved.backend} is {told_size(int(resolved.utilization * total))} "
                f"({resolved.utilization} of {told_size(int(total))}); give it a larger utilization, or a smaller build"
            )
    return found
