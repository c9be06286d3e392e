"""Reads this box: memory and who has processes many times a second, and what is slow to tell beside that."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from floor.box import gpu, groups, memory, pressure, units
from floor.box.command import Run
from floor.errors import FloorError

from . import promises
from .beside import Begin, Beside, in_thread
from .look import Found, look, members, show_soon, soon
from .sample import Engine, Sample
from .settings import Settings

EVERY = 15.0  # seconds between two looks at the engines: docker's client costs forty milliseconds, systemctl ten
EVERY_STARTING = 2.0
OLD = 60.0  # seconds without an answer after which it is said
HANGS = "systemd, docker or the driver has given no answer for a minute: what engines hold is what they held before"


@dataclass
class Sampler:
    """Given the settings, the root of all paths and a monotonic clock, whom to ask, and how that is begun.

    `found` is what systemd, docker and the driver told last. No sample waits for them: who has processes now is read
    from the control groups, and only what they hold, since when, and whether they are up is as old as the last look.
    """

    settings: Settings
    root: Path
    clock: Callable[[], float]
    show: units.Run = show_soon
    run: Run = soon
    library: Any = field(default_factory=gpu.library)
    begin: Begin = in_thread
    found: Found = field(default_factory=Found)
    wrong: str = ""  # what the last look did not find, and why; empty where it found all
    _nvml: Any = None
    _next: float = float("-inf")
    _asked: float = float("-inf")
    _anew: bool = False  # somebody wants to know since the last look began
    _begun: float = 0.0
    _promised: frozenset[str] = frozenset()
    _noticed: float = float("-inf")
    _empty: set[str] = field(default_factory=set)
    _came: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._beside = Beside(self._look, self.begin)

    def now(self) -> Sample:
        """Return the box's memory now, and the engines that have processes now."""
        self._ask()
        engines = tuple(one for copy in self.settings.copies if (one := self._engine(copy.unit)))
        seen = memory.read(self.root)
        return Sample(self.clock(), seen.total, seen.available, pressure.read(self.root), engines)

    def forget(self, ended: str = "") -> None:
        """Look at the engines anew with the next sample: the unit `ended`, or none is known and one must go. What was
        known of that unit is not believed of what runs there from now on."""
        self._next, self._anew = float("-inf"), True
        if ended:
            self._came[ended] = self.clock()

    def age(self, now: float) -> float | None:
        """Given the clock, return how old (seconds) what engines hold is; None where nobody has told it yet."""
        return None if self.found.asked == float("-inf") else round(now - self.found.asked, 1)

    def groups(self, unit: str) -> tuple[str, ...]:
        """Given a copy's unit, return the control groups of it and of its container, those that are known."""
        return self.found.groups.get(unit) or (groups.of_unit(unit),)

    def launch(self, unit: str) -> str:
        """Given a copy's unit, return the digest that it was started with, empty where its start is younger than the
        last look. /proc is not read for it: a process that is short of memory may hold that up."""
        return self.found.launches.get(unit, "") if self._is_known(unit) else ""

    def is_of(self, unit: str, invocation: str) -> bool:
        """Given a copy's unit and systemd's id of a start, return whether that is its present one, for all that is
        known."""
        facts = self.found.facts.get(unit)
        return facts is not None and facts.invocation == invocation and self._is_known(unit)

    def others(self, sample: Sample) -> int | None:
        """Given a sample, return the bytes that others than engines take; None where an engine does not tell its own.

        Of an engine on a card of its own only what it holds beside that card is the box's memory.
        """
        if sample.total is None or sample.available is None:
            return None
        own = 0
        for one in sample.engines:
            if one.memory is None:
                return None
            own += one.memory
        return max(0, sample.total - sample.available - own)

    def _ask(self) -> None:
        """Have a look made where the last one is old or a copy has been let start since, and take the one that came."""
        begun, now = promises.changed(self.root), self.clock()
        if begun != self._begun:
            self._begun, self._noticed = begun, now
            self._promised = frozenset(promises.read(self.root, now))
            self.forget()
        if now >= self._next and self._beside.go():
            starting = self._promised or any(one.starting for one in self.found.engines.values())
            self._next, self._asked, self._anew = now + (EVERY_STARTING if starting else EVERY), now, False
        elif self._beside.busy and now - self._asked >= OLD:
            self.wrong = HANGS
        try:
            found = self._beside.take()
        except FloorError as error:
            # Who does not answer leaves what was known, and is not asked at once, unless much has changed meanwhile.
            self._next = self._next if self._anew else self.clock() + EVERY
            self.wrong = str(error)
            return
        if found is not None:
            self.wrong = found.wrong
            self.found = found
            if any(one.starting for one in found.engines.values()):
                self._next = min(self._next, found.asked + EVERY_STARTING)
            if found.asked >= self._noticed:
                self._promised = frozenset()

    def _look(self) -> Found:
        # Here, not before the first sample: a driver that hangs leaves a guard all the same.
        self._nvml = self._nvml or gpu.begun(self.library)
        return look(self.settings, self.root, self.clock, self.show, self.run, self._nvml, self.found)

    def _engine(self, unit: str) -> Engine | None:
        """The engine of a unit, if it has processes now. One that was let start since the last look starts."""
        with suppress(OSError):
            if not members(self.groups(unit), self.root):
                self._empty.add(unit)
                return None
        if unit in self._empty:  # another start: what was known is of the one before, and it may only wait
            self._empty.discard(unit)
            self._came[unit] = self.clock()
            self.forget()
        known = self.found.engines.get(unit) if self._looked(unit) else None
        if unit in self._promised:
            return Engine(unit, starting=True, memory=known.memory if known else None, since=self._noticed)
        return known or Engine(unit)

    def _looked(self, unit: str) -> bool:
        """Whether the last look was made since a unit has processes, without a break."""
        return self.found.asked >= self._came.get(unit, float("-inf"))

    def _is_known(self, unit: str) -> bool:
        """Whether the last look was at the present start of a unit."""
        return self._looked(unit) and unit not in self._promised
