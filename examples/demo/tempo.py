"""How fast the story goes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tempo:
    """`load` is the seconds that an engine loads, `speed` how many times as fast as a GB10 box it is, `restart` the
    seconds until a dead one is started again (the rendered unit says 10), `under_load` those before the kill, and again
    after both serve."""

    load: float = 3.0
    speed: float = 1.0
    restart: float = 1.0
    under_load: float = 3.0


FAST = Tempo(load=0.2, speed=8.0, restart=0.2, under_load=0.6)
