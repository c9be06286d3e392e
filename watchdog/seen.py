"""What is seen of one copy at one moment, and of its box. Data alone: deciding is elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from floor.box.units import UnitFacts
from floor.engines.ending import Ending
from floor.healthcheck.load import Load
from floor.healthcheck.verdict import Verdict


@dataclass(frozen=True)
class Box:
    """The box at one moment. `epoch` is that of the last operation (0: none yet).

    `busy` tells who holds the box now (empty: nobody), `abandoned` which operation left it without ending well, and
    `left` when its lease ended (the box's monotonic clock, 0: before this boot).
    """

    epoch: int = 0
    busy: str = ""
    abandoned: str = ""
    left: float = 0.0


@dataclass(frozen=True)
class Seen:
    """One copy at one moment. `at` is the box's monotonic clock.

    `wanted`: the present mode wants it. `verdict` and `load` are None where it was not asked, `connections` is how many
    established ones its port has (None: unknown). `hold` says why the guard keeps it down. `conflicts` are the units
    that its start would stop and that run now, with their state. `left` are processes of the unit (or its container)
    that outlived it, `strangers` engine processes that belong to no unit, `ending` what its log says of its last end.
    """

    unit: UnitFacts
    at: float
    wanted: bool = True
    verdict: Verdict | None = None
    load: Load | None = None
    connections: int | None = None
    hold: str = ""
    conflicts: Mapping[str, str] = field(default_factory=dict)
    left: tuple[str, ...] = ()
    strangers: tuple[str, ...] = ()
    ending: Ending | None = None
