"""Reads this box: memory many times a second, and now and then who the engines are and what they hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from floor.box import containers, gpu, groups, memory, paths, pressure, processes, units
from floor.box.command import Result, Run, run
from floor.box.units import UnitFacts
from floor.errors import FloorError

from . import promises
from .sample import Engine, Sample
from .settings import Copy, Settings

EVERY = 15.0  # seconds between two looks at the engines: docker's client costs forty milliseconds, systemctl ten
EVERY_STARTING = 2.0
PATIENCE = 3.0  # seconds: while docker or systemd hangs nobody watches the memory


def soon(argv: Sequence[str]) -> Result:
    """Run a program as `command.run` does, and wait for it no longer than the guard can."""
    return run(argv, timeout=PATIENCE)


def show_soon(argv: Sequence[str], _timeout: float) -> str:
    """Ask systemd as `units.run_show` does, and wait for it no longer than the guard can."""
    return units.run_show(argv, PATIENCE)


@dataclass
class Sampler:
    """Given the settings, the root of all paths and a monotonic clock. `groups` are the control groups of each engine
    that has processes, `facts` what systemd said of its unit, as of the last look."""

    settings: Settings
    root: Path
    clock: Callable[[], float]
    show: units.Run = show_soon
    run: Run = soon
    nvml: Any = field(default_factory=gpu.binding)
    groups: dict[str, tuple[str, ...]] = field(default_factory=dict)
    facts: Mapping[str, UnitFacts] = field(default_factory=dict)
    cards: gpu.Cards = field(default_factory=gpu.Cards)
    _engines: tuple[Engine, ...] = ()
    _looked: float = float("-inf")
    _begun: float = 0.0

    def now(self) -> Sample:
        """Return the box's memory now; the engines are those of the last look, which is made anew when it is old."""
        every = EVERY_STARTING if any(one.starting for one in self._engines) else EVERY
        begun = promises.changed(self.root)
        if self.clock() - self._looked >= every or begun != self._begun:
            self._begun = begun
            self._look()
        seen = memory.read(self.root)
        return Sample(self.clock(), seen.total, seen.available, pressure.read(self.root), self._engines)

    def forget(self) -> None:
        """Look at the engines anew with the next sample: one of them was ended, or none is known and one must go."""
        self._looked = float("-inf")

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

    @property
    def _proc(self) -> Path:
        return paths.under(self.root, processes.PROC)

    def _look(self) -> None:
        """Ask systemd, docker and the driver. Who does not answer leaves what was known before, and is not asked again
        at once."""
        self._looked = self.clock()
        try:
            self.facts = units.show([copy.unit for copy in self.settings.copies], self.show)
            boxed = self._containers()
        except FloorError:
            self._looked = self.clock() + EVERY - EVERY_STARTING
            return
        self.cards = gpu.read(self.nvml)
        found = []
        self.groups = {}
        for copy in self.settings.copies:
            unit = self.facts[copy.unit]
            own = [unit.cgroup or groups.of_unit(copy.unit), *boxed.get(copy.unit, ())]
            pids = [pid for group in own for pid in processes.in_cgroup(group, self.root)]
            if pids:
                self.groups[copy.unit] = tuple(own)
                starting = unit.active == "activating"
                since = unit.started or 0.0
                found.append(Engine(copy.unit, starting, self._held(copy, own, pids), since))
        self._engines = tuple(found)

    def _containers(self) -> dict[str, tuple[str, ...]]:
        """The control groups of the containers of copies, by unit."""
        names = {containers.of_unit(copy.unit): copy.unit for copy in self.settings.copies if copy.docker}
        found = containers.inspect(names, self.run)
        return {
            names[name]: (group,)
            for name, one in found.items()
            if one["pid"] and (group := groups.of_process(one["pid"], self.root))
        }

    def _held(self, copy: Copy, own: list[str], pids: list[int]) -> int | None:
        """What an engine holds of the box's memory; None where it has a card and the driver does not tell."""
        known = [size for group in own if (size := groups.memory(group, self.root)) is not None]
        # Where groups do not account for memory (version 1), its processes do.
        beside = sum(known) if known else sum(processes.resident(pid, self._proc) for pid in pids) or None
        if not copy.card or self.cards.shared is False:
            return beside
        on_card = [self.cards.used[pid] for pid in pids if pid in self.cards.used]
        return (beside or 0) + sum(on_card) if on_card else None
