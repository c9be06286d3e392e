"""When a copy that was taken down may start again. Pure.

The first time it is when there has been room for it for a while; the second time within a day only a person knows.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from floor.box.holds import Hold

CALM = 300.0  # seconds without a break for which there must be room: memory comes back late, and co-tenants come and go
DAY = 86400.0


def lasting(kills: Sequence[float], now: float) -> bool:
    """Given the unix times at which a copy was taken down, this one included, say whether its hold stays for good."""
    return sum(1 for at in kills if 0 <= now - at < DAY) > 1


def room(hold: Hold, available: int | None, keep_free: int) -> bool:
    """Given a hold, the bytes available now and those to be kept free, say whether it would fit now."""
    return available is not None and available >= (hold.needs or 0) + keep_free


@dataclass(frozen=True)
class Calm:
    """Since when (monotonic clock) there has been room, by unit."""

    since: dict[str, float]

    def look(self, unit: str, *, fits: bool, at: float) -> bool:
        """Given whether a unit would fit now, return whether it has for long enough."""
        if not fits:
            self.since.pop(unit, None)
            return False
        return at - self.since.setdefault(unit, at) >= CALM

    def only(self, held: Collection[str]) -> None:
        """Given the units that are kept down, forget the others: the room that there was for one is none for its next
        hold."""
        for unit in [unit for unit in self.since if unit not in held]:
            del self.since[unit]
