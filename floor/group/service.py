"""The service: looks at the box's own parts and at the others, and ends a part whose generation is over.

It never starts anything: systemd starts an ended part again, and its gate holds it until all can begin together.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from floor.box import events, parts, units
from floor.box.notify import Notifier
from floor.errors import FloorError

from . import settings
from .ask import Others
from .decide import ends, told_alone
from .end import end
from .settings import Group, Settings

EVERY = 1.0  # seconds between two looks
SOON = 0.2  # and while another part is being stopped: this one begins anew as soon as that has gone
SOON_FOR = 60.0  # seconds: one that is not gone by then may take as long as the longest request
AT_REST = 3.0  # and while no rank runs here, as in the other mode
_NEVER = float("inf")

Clock = Callable[[], float]
Log = Callable[[str], None]


@dataclass
class _Watched:
    """One group: whom to ask, since when (monotonic) which start of its part is on its way, and since when another part
    is being `stopped`."""

    group: Group
    others: Others
    start: str = ""
    since: float = _NEVER
    stopped: float | None = None


class Service:
    """One run of floor-group. Given its settings, the root of all paths, and where log lines go."""

    def __init__(self, wanted: Settings, root: Path, log: Log, clock: Clock = time.monotonic) -> None:
        self._settings, self._root, self._log, self._clock = wanted, root, log, clock
        self._watched = [_Watched(group, Others(group, clock)) for group in wanted.groups]
        self._stop = threading.Event()
        self._said: dict[str, str] = {}

    def stop(self) -> None:
        """End `run` soon; no part is touched."""
        self._stop.set()

    def run(self, notifier: Notifier) -> None:
        """Work until `stop` is called."""
        notifier.ready(self._summary())
        while not self._stop.is_set():
            began = self._clock()
            for one in self._watched:
                self._look(one)
                notifier.alive(self._summary())
            self._stop.wait(max(0.0, self._every() - (self._clock() - began)))
        notifier.stopping()
        for one in self._watched:
            one.others.close()

    def _every(self) -> float:
        now = self._clock()
        if any(one.stopped is not None and now - one.stopped < SOON_FOR for one in self._watched):
            return SOON
        return EVERY if any(one.start for one in self._watched) else AT_REST

    def _look(self, one: _Watched) -> None:
        """Look at one part, then at the others, and end it where it must begin anew."""
        before, one.stopped = one.stopped, None
        try:
            unit = units.show([one.group.unit])[one.group.unit]
            # After systemd: an older mark would take a start that is fine for one of which nobody knows anything.
            mark = parts.get(one.group.model, self._root)
            own = parts.told(one.group.part, unit, mark)
            if own.phase not in (parts.Phase.GOING, parts.Phase.RUNNING):
                one.start = ""
                return
            if one.start != own.start:
                one.start, one.since = own.start, self._clock()
                one.others.forget()
            if words := settings.regrouped(one.group, mark):
                self._say(one.group, words)
                return
            looks = one.others.look(settings.keys(self._settings, self._root))
            if any(look.told is not None and look.told.phase is parts.Phase.STOPPING for look in looks.values()):
                one.stopped = self._clock() if before is None else before
            looks = told_alone(looks) if parts.leaves(own.start, mark) else looks
            if why := ends(own, self._clock() - one.since, looks):
                self._end(one.group, own, why)
            self._say(one.group, "")
        except FloorError as error:
            self._say(one.group, str(error))

    def _end(self, group: Group, own: parts.Told, why: str) -> None:
        text = f"{group.unit} is ended, to begin anew with the rest of its group: {why}"
        mark = parts.get(group.model, self._root)
        if mark is not None and mark.start == own.start:
            parts.put(group.model, replace(mark, spared=True), self._root)
        if not end(group, own.start):
            return
        self._log(text)
        data = {"model": group.model, "part": group.part, "start": own.start, "generation": own.generation}
        events.append("group", text, data, at=time.time(), root=self._root)

    def _say(self, group: Group, words: str) -> None:
        if words and words != self._said.get(group.model):
            self._log(f"{group.model}: {words}")
        self._said[group.model] = words

    def _summary(self) -> str:
        return ", ".join(f"{one.group.model}: {'on its way' if one.start else 'at rest'}" for one in self._watched)
