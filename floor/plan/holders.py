"""Who holds a backend out of a pool: the operation at work, a person, or the absence of its box."""

from __future__ import annotations

from collections.abc import Iterable

from floor.box.drains import ABSENCE, Drain, is_absence

__all__ = ["absent", "held", "is_absence", "people"]


def absent(box: str) -> str:
    """Given a box that did not answer, return the name under which its copies are kept out of the pools."""
    return f"{ABSENCE}{box}"


def people(drains: Iterable[Drain]) -> list[str]:
    """The people among those who hold a backend: such a drain outlives operations, and only a person ends it."""
    return [drain.holder for drain in drains if drain.epoch is None and not is_absence(drain.holder)]


def held(drains: Iterable[Drain]) -> bool:
    """Whether a person holds it."""
    return bool(people(drains))
