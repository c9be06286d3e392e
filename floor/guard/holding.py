"""Keeps copies down that were taken down, and lets them go: beside the loop, since a disk may hang."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from floor.box import holds
from floor.box.holds import Hold

from . import lift
from .later import Later
from .sample import Sample

RUNS_AGAIN = 30.0  # seconds after which an engine that began later than its hold does run
Say = Callable[[str, Mapping[str, object]], None]


@dataclass
class Holding:
    """Given the root of all paths, the bytes to be kept free, who does what may hang, and who is told."""

    root: Path
    keep_free: int
    later: Later
    say: Say
    _calm: lift.Calm = field(default_factory=lambda: lift.Calm({}))

    def keep_down(self, hold: Hold) -> None:
        """Given a hold, have it written down before systemd restarts its unit. Without the launch that ran, it is that
        of the unit's file."""
        self.later.do(lambda: self._put(hold))

    def look(self, sample: Sample, unix: float) -> None:
        """Given a sample and unix seconds, let go what has had room for long enough: the watchdog, or a person, starts
        it. And what runs again: with another launch, or because somebody let it go."""
        self.later.do(lambda: self._look(sample, unix), "look")

    def _put(self, hold: Hold) -> None:
        self._calm.since.pop(hold.unit, None)
        launch = hold.launch or holds.installed(hold.unit, self.root)
        holds.put(replace(hold, launch=launch), self.root)

    def _look(self, sample: Sample, unix: float) -> None:
        held = holds.read(self.root)
        self._calm.only(held)
        for unit, hold in held.items():
            if _again(hold, sample, unix):
                holds.drop(unit, self.root)
                continue
            fits = not hold.lasting and lift.room(hold, sample.available, self.keep_free)
            if self._calm.look(unit, fits=fits, at=sample.at):
                holds.drop(unit, self.root)
                self.say(f"{unit} may start again: there has been room for it for {lift.CALM:.0f} s", {"unit": unit})


def _again(hold: Hold, sample: Sample, unix: float) -> bool:
    """Whether an engine runs that began after its hold.

    Not what still ends: a process that waits for its card outlives SIGKILL by more than a while. Nor what has begun
    nothing yet, as at a boot while its unit asks whether it may.
    """
    kept = unix - hold.at
    begun = [one.since for one in sample.engines if one.unit == hold.unit and one.since > 0]
    return kept > RUNS_AGAIN and any(sample.at - since < kept for since in begun)
