"""Whether a start can fit, before it takes any memory. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from floor.box.memory import Memory
from floor.sizes import GIB, gib

from .settings import Copy, Settings, floor_of


def needs(copy: Copy, total: int | None, shared: bool | None) -> int | None:
    """Given a copy, the bytes of the box and whether its GPU shares them, return what a start will take of the box's
    memory; None where it does not take a share of it (a card of its own, no card), or nobody can tell."""
    if not copy.card or not shared or total is None or copy.utilization is None:
        return None
    return int(total * copy.utilization)


def refusal(
    settings: Settings, unit: str, memory: Memory, held: Mapping[str, int | None], *, shared: bool | None
) -> str:
    """Given the settings, the unit that is to start, the box's memory, and what each other engine that runs holds
    (bytes, None: not known), return why the start cannot fit; empty where it can, or where nobody can tell.

    What another engine that is starting was promised and has not taken yet is not free.
    """
    copy = settings.copy(unit)
    if copy is None or memory.total is None or memory.available is None:
        return ""
    need = needs(copy, memory.total, shared)
    if need is None:
        return ""
    promised = 0
    for name, size in held.items():
        other = settings.copy(name)
        share = needs(other, memory.total, shared) if other is not None and name != unit else None
        promised += max(0, share - size) if share is not None and size is not None else 0
    floor, free = floor_of(settings, memory.total), memory.available - promised
    if need + floor <= free:
        return ""
    others = f", {promised / GIB:.1f} of them promised to engines that start" if promised else ""
    return (
        f"{copy.backend}: a share of {copy.utilization:g} is {gib(need)}, and "
        f"{gib(memory.available)} are available{others}, of which {floor / GIB:.1f} must "
        "stay; see `floor guard advise`"
    )
