"""Who holds a backend out of a pool: the operation at work, a person, the absence of its box, a test not over yet."""

from __future__ import annotations

from collections.abc import Iterable

from floor.box.drains import ABSENCE, UNTESTED, Drain, is_absence, is_untested, outlives

__all__ = ["absent", "held", "is_absence", "is_untested", "people", "untested"]


def absent(box: str) -> str:
    """Given a box that did not answer, return the name under which its copies are kept out of the pools."""
    return f"{ABSENCE}{box}"


def untested(launch: str) -> str:
    """Given the digest of a launch, return the name under which a copy with it is kept out until it has been tested."""
    return f"{UNTESTED}{launch}"


def people(drains: Iterable[Drain]) -> list[str]:
    """The people among those who hold a backend: such a drain outlives operations, and only a person ends it."""
    return [one.holder for one in drains if one.epoch is None and not outlives(one.holder)]


def held(drains: Iterable[Drain]) -> bool:
    """Whether a person holds it, or a test that is not over."""
    found = list(drains)
    return bool(people(found)) or any(is_untested(drain.holder) for drain in found)
