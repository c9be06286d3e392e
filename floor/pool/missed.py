"""What a box missed while it was away: absences, and builds without a test, that operations hold without it. Pure.

A box that was absent comes back with its old settings and with the drains of then: nothing on it says that its copies,
and those of others that were away too, must stay out until a deployment has seen them. The others know.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from floor.box.drains import Drains


@dataclass(frozen=True)
class Told:
    """What another box tells: the epoch of the last operation that it took part in, and whom it holds, for absence or
    until a test has passed."""

    epoch: int = 0
    absences: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def missed(told: Iterable[Told], epoch: int, held: Drains) -> list[tuple[str, str]]:
    """Given what other boxes tell, the epoch of this box's last operation and its own drains, return (backend, holder)
    of each absence that this box has to hold from now on.

    Only a box that took part in something later than this one knows better: what one that was away itself still holds
    may be over.
    """
    found = {
        (backend, holder)
        for one in told
        if one.epoch > epoch
        for backend, holders in one.absences.items()
        for holder in holders
        if not any(drain.holder == holder and drain.epoch is None for drain in held.get(backend, ()))
    }
    return sorted(found)
