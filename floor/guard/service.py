"""The service: sample, decide, sample again, act. It runs until SIGTERM."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from floor.box import events, files, groups, paths
from floor.box.holds import Hold
from floor.box.locked import mine
from floor.box.notify import Notifier
from floor.errors import FloorError
from floor.sizes import GIB, gib

from . import history, lift, records, starts
from .beside import Beside
from .decide import Action, Decision, Watch, decide, pace, still
from .fit import needs
from .holding import Holding
from .later import Later
from .observed import AGAIN, Observed
from .sample import Sample
from .sampler import Sampler
from .settings import Settings, floor_of

STATE_EVERY = 5.0  # seconds between two reports
READ_EVERY = 30.0  # seconds between two readings of what others take
KEEP_EVERY = 600.0  # seconds between two times that the history is written: a reading lost is no loss
SEEK_EVERY = 1.0  # seconds between two looks for an engine to end, where none is known and one must go
LATER = 15.0  # seconds until a journal that gave no answer is asked again
ENDS = 3.0  # seconds at its own end for what is still to be written
LOG_EVERY = 2.0  # seconds between two looks at the log of an engine that starts


@dataclass
class Service:
    """Given settings, sampler, root, clocks and a log. `end` ends a control group."""

    settings: Settings
    sampler: Sampler
    root: Path
    log: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    end: Callable[[str, Path], bool] = groups.end
    watch: Watch = field(default_factory=Watch)
    kept: records.Records = field(default_factory=records.Records)
    stopping: bool = False
    _due: dict[str, float] = field(default_factory=dict)
    _observed: Observed = field(default_factory=Observed)
    _last: dict[str, tuple[str, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        begin = self.sampler.begin
        self._journal = Beside(self._read_logs, begin)
        # Nothing here waits for a disk. What keeps a copy down does not wait for what is only told, either.
        self._written, self._marked = Later(begin), Later(begin)
        self._holding = Holding(self.root, self.settings.keep_free, self._marked, self._say)

    def run(self, notifier: Notifier, sleep: Callable[[float], None] = time.sleep) -> None:
        """Work until `stop` was called."""
        self.kept, wrong = records.read(self.root)
        if wrong:
            self._say(wrong, {})
        notifier.ready("watching")
        while not self.stopping:
            sample = self.step()
            if self._time("alive", 5.0):
                notifier.alive(_summary(sample))
            sleep(pace(sample, self.settings))
        notifier.stopping()
        self._keep()
        for each in (self._marked, self._written):
            each.finish(ENDS)

    def stop(self) -> None:
        """End `run` soon."""
        self.stopping = True

    def step(self) -> Sample:
        """One sample, and what follows from it. Return the sample."""
        sample = self.sampler.now()
        self._once(self.sampler.wrong, "look")
        before = self.watch
        self.watch, decision = decide(before, sample, self.settings)
        if decision.nobody and self._time("nobody", SEEK_EVERY):
            self.sampler.forget()
            sample = self.sampler.now()
            self.watch, decision = decide(before, sample, self.settings)
        if decision.action is Action.KILL:
            if not still(decision, before, self.sampler.now(), self.settings):
                self.watch = before
            else:
                self._take_down(decision, sample, lasting=False)
        elif decision.action is Action.WARN:
            self._say(decision.text, {"available": sample.available, "full": sample.full})
        self._beside(sample)
        return sample

    def _beside(self, sample: Sample) -> None:
        """What is not in a hurry: starts, holds, the history, the report."""
        self._follow(sample)
        if self._time("others", READ_EVERY) and (taken := self.sampler.others(sample)) is not None:
            self.kept.history = history.add(self.kept.history, taken, self.wall())
        if self._time("state", STATE_EVERY):
            self._holding.look(sample, self.wall())
            self._report(sample)
        if self._time("keep", KEEP_EVERY):
            self._keep()
        for each in (self._marked, self._written):
            each.go()
            for wrong in each.wrong():
                self._once(wrong, "disk")

    def _take_down(self, decision: Decision, sample: Sample, *, lasting: bool) -> None:
        """Kill one engine: first the processes, then the mark that keeps it down (a restart comes after 2 s at the
        soonest), then the words. Nothing is waited for: a second one may have to go."""
        copy = self.settings.copy(decision.unit)
        name = copy.backend if copy is not None else decision.unit
        data = {"unit": decision.unit, "available": sample.available, "total": sample.total, "full": sample.full}
        if self.settings.mode != "protect":
            if self._observed.falls_due(decision.unit, self.clock(), log=lasting):
                self._say(f"would have taken {name} down: {decision.text}", data)
            return
        for group in self.sampler.groups(decision.unit):
            self._end(group)
        launch = self.sampler.launch(decision.unit)
        self.sampler.forget(decision.unit)
        need = needs(copy, sample.total, self.sampler.found.cards.shared) if copy is not None else None
        held = next((one.memory for one in sample.engines if one.unit == decision.unit), None)
        lasting = lasting or lift.lasting(self.kept.killed(decision.unit, self.wall()), self.wall())
        self._holding.keep_down(Hold(decision.unit, decision.text, launch, self.wall(), need or held, lasting))
        self._say(f"took {name} down: {decision.text}", data)
        self._keep()

    def _follow(self, sample: Sample) -> None:
        """Keep what each start logs; one whose log announces too much is ended before it takes it."""
        starting = {one.unit for one in sample.engines if one.starting}
        self._observed.look(sample, self.settings, starting)
        if starting and self._time("log", LOG_EVERY):
            self._journal.go()
        try:
            logged = self._journal.take() or {}
        except FloorError as error:
            self._due["log"] = self.clock() + LATER
            self._once(str(error), "log")
            return
        for unit, (invocation, found) in logged.items():
            if not self.sampler.is_of(unit, invocation):
                continue  # another start by now, which has logged nothing of this
            if found.start.available is not None:
                self.kept.starts[unit] = found
            why = starts.announces(found, sample.total, self.sampler.found.cards.shared)
            if why and unit in starting:
                self._take_down(Decision(Action.KILL, unit, why), sample, lasting=True)

    def _read_logs(self) -> dict[str, tuple[str, records.Logged]]:
        """What the engines that start have logged so far, by unit, each with systemd's id of that start."""
        found, run = self.sampler.found, self.sampler.run
        return {
            copy.unit: (facts.invocation, starts.logged(copy, facts, found.launches[copy.unit], run))
            for copy in self.settings.copies
            if (one := found.engines.get(copy.unit)) and one.starting and (facts := found.facts[copy.unit])
        }

    def _report(self, sample: Sample) -> None:
        found = history.others(self.kept.history)
        document = {
            "at": round(self.wall(), 3),
            "mode": self.settings.mode,
            "total": sample.total,
            "available": sample.available,
            "full": sample.full,
            "floor": None if sample.total is None else floor_of(self.settings, sample.total),
            "keep_free": self.settings.keep_free,
            "shared": self.sampler.found.cards.shared,
            "engines": [asdict(one) for one in sample.engines],
            "asked": self.sampler.age(self.clock()),
            "others": None if found is None else asdict(found),
            "starts": {unit: asdict(one) for unit, one in self.kept.starts.items()},
        }
        text = json.dumps(document) + "\n"
        self._written.do(lambda: files.write(paths.GUARD_STATE, text, owner=mine(), root=self.root), "report")

    def _keep(self) -> None:
        text = self.kept.text()
        self._written.do(lambda: records.write(text, self.root), "keep")

    def _end(self, group: str) -> None:
        try:
            self.end(group, self.root)
        except Exception as error:  # the next group is ended all the same
            self._once(f"{group}: cannot be ended: {type(error).__name__}: {error}", "end")

    def _time(self, what: str, every: float) -> bool:
        """Whether it is time for something again."""
        if self.clock() < self._due.get(what, float("-inf")):
            return False
        self._due[what] = self.clock() + every
        return True

    def _once(self, text: str, about: str) -> None:
        """Log what is wrong with something (empty: nothing), unless just that was said of it within the hour."""
        last, at = self._last.get(about, ("", 0.0))
        if text and (text != last or self.clock() - at >= AGAIN):
            self._last[about] = (text, self.clock())
            self._written.do(lambda: self.log(text))

    def _say(self, text: str, data: Mapping[str, object]) -> None:
        at = self.wall()
        self._written.do(lambda: self.log(f"floor-guard: {text}"))
        self._written.do(lambda: events.append("guard", text, data, at=at, root=self.root))


def _summary(sample: Sample) -> str:
    if sample.available is None or sample.total is None:
        return "memory is not known"
    return f"{gib(sample.available)} available of {sample.total / GIB:.1f}, {len(sample.engines)} engines"
