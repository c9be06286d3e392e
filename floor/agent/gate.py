"""`python -I -m floor.agent.gate MODEL`: holds a part of a group until all its parts can start together.

It is an ExecStartPre= of the part's unit, whoever starts it, so ranks never race: the head waits until every worker has
joined this start of it with no process left, a worker until the head goes under the start that it has joined. It may
wait for hours; systemd is told again and again that this is no start that hangs.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from floor.box import containers, parts, paths, processes, systemctl
from floor.box.notify import Notifier
from floor.box.parts import HEAD, Mark, Phase, Told
from floor.errors import FloorError
from floor.group import settings
from floor.group.ask import Others
from floor.group.decide import Gate, gate, rests
from floor.group.settings import Group

SOON = 0.1  # seconds between two looks at first: those that start together come within a few seconds
FIRST = 15.0  # seconds for which that is so
EVERY = 0.5  # and after it
MODE = "split"  # in which parts run
EXTEND = 60.0  # seconds that systemd is asked for each time; longer than a look at boxes that do not answer takes
TELL_EVERY = 60.0  # seconds between two lines of the journal while nothing changes


class Waiting:
    """One start of a part at its gate. Given its group, the start (InvocationID) and the root of all paths."""

    def __init__(self, group: Group, start: str, root: Path) -> None:
        self._group, self._root = group, root
        own = Told(group.part, group.unit, Phase.WAITING, start, start if group.part == HEAD else None)
        self._own = replace(own, left=left(group))
        self._from = time.monotonic() + rests(parts.get(group.model, root), time.monotonic())
        self._began = time.monotonic()
        self._said, self._at = "", float("-inf")

    def run(self, notifier: Notifier, wanted: settings.Settings) -> None:
        """Return when the rank may start. Raise FloorError if this part cannot be marked, or is not to run any more."""
        others = Others(self._group, time.monotonic)
        self._mark(going=False)
        try:
            while True:
                notifier.extend(EXTEND)
                self._allowed()
                began = time.monotonic()
                try:
                    if self._look(others, settings.keys(wanted, self._root)).go:
                        return
                except FloorError as error:  # a start that failed for it would count towards the start limit
                    self._say(str(error))
                every = SOON if began - self._began < FIRST else EVERY
                time.sleep(max(0.0, every - (time.monotonic() - began)))
        finally:
            others.close()

    def _allowed(self) -> None:
        """The unit's condition was asked when it began to wait; the mode may have become another since."""
        place = paths.under(self._root, paths.MODE)
        try:
            mode = place.read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise FloorError(f"{place}: cannot be read ({error}); `floor deploy` writes it") from error
        if mode != MODE:
            raise FloorError(f"{place}: found {mode!r}; parts of a group run in mode {MODE} only")

    def _look(self, others: Others, keys: Sequence[str]) -> Gate:
        if self._own.left:
            self._own = replace(self._own, left=left(self._group))
            self._mark(going=False)
        looks = others.look(keys)
        if (early := self._from - time.monotonic()) > 0:
            self._say(f"the start before ended at once: waits {early:.0f} s")
            return Gate(False, self._own.generation)
        found = gate(self._own, {box: look.told for box, look in looks.items()})
        if found.generation != self._own.generation or found.go:
            self._own = replace(self._own, generation=found.generation)
            self._mark(going=found.go)
        self._say("all of it starts now" if found.go else found.waits)
        return found

    def _mark(self, *, going: bool) -> None:
        own = self._own
        among = tuple(other.box for other in self._group.others)
        mark = Mark(own.start, going, own.generation, own.left, time.monotonic(), among=among)
        parts.put(self._group.model, mark, self._root)

    def _say(self, words: str) -> None:
        if words != self._said or time.monotonic() - self._at >= TELL_EVERY:
            log(f"{self._group.model}: {self._group.part}: {words}")
            self._said, self._at = words, time.monotonic()


def left(group: Group) -> tuple[int | str, ...]:
    """Given the group that this process is of, return what an earlier start left: processes, and its container."""
    inside = processes.in_cgroup(systemctl.show([group.unit])[group.unit].cgroup)
    found: list[int | str] = [pid for pid in inside if pid != os.getpid()]
    if group.container is not None:
        try:
            found += [f"container {name}" for name in containers.inspect([group.container])]
        except FloorError as error:  # then nobody knows what runs
            found.append(str(error))
    return tuple(found)


def _start(environ: Mapping[str, str], group: Group) -> str:
    if not environ.get("INVOCATION_ID"):
        raise FloorError(f"only systemd starts parts of a group; write systemctl start {group.unit}")
    return environ["INVOCATION_ID"]


def log(text: str) -> None:
    """Write one line to the journal."""
    print(f"floor-gate: {text}", file=sys.stderr, flush=True)


def main(argv: Sequence[str] | None = None, environ: Mapping[str, str] = os.environ) -> int:
    """Given the arguments and what systemd put into the environment, wait. Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m floor.agent.gate", description=__doc__)
    parser.add_argument("model", help="the model whose part waits")
    parser.add_argument("--root", type=Path, default=paths.ROOT, help="folder that all paths lie below (default: /)")
    options = parser.parse_args(argv)
    notifier = Notifier()
    try:
        wanted = settings.load(options.root)
        group = wanted.group(options.model)
        Waiting(group, _start(environ, group), options.root).run(notifier, wanted)
    except FloorError as error:
        log(str(error))
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
