"""`floor logs` and `floor events`: what the boxes wrote down."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from floor.desired import copies, groups
from floor.errors import BoxError, UsageError
from floor.operations.site import Site

Say = Callable[[str], None]
SERVICES = {
    "proxy": "floor-proxy.service",
    "pool": "floor-pool.service",
    "agent": "floor-agent.service",
    "guard": "floor-guard.service",
    "watchdog": "floor-watchdog.service",
}
SHARED = {"address": "floor-address.service"}
METRICS = {"metrics": "floor-metrics.service"}
GROUPS = {"group": f"{groups.SERVICE}.service"}
HEARD = 0.5  # seconds after which Ctrl-C is heard at the latest


def wanted_units(site: Site, names: Sequence[str]) -> dict[str, list[str]]:
    """Given backends, boxes, models or services (none: all), return the units to read on each box. Raise UsageError."""
    config = site.loaded.config
    units: dict[str, list[tuple[set[str], str]]] = {box: [] for box in site.boxes}
    for model in config.models:
        for copy in config.copies(model):
            if copy.box in units:
                units[copy.box].append(({copy.backend, copy.box, model}, copies.unit_name(model)))
        for part in config.parts(model):
            if part.box in units:
                units[part.box].append(({part.backend, part.box, model}, groups.unit_name(model)))
    services = SERVICES | (SHARED if config.proxy.address else {}) | (GROUPS if config.splits else {})
    services |= METRICS if config.metrics.wanted else {}
    for box in units:
        units[box] += [({name, box}, unit) for name, unit in services.items()]
    known = {word for found in units.values() for words, _ in found for word in words}
    for name in names:
        if name not in known:
            raise UsageError(
                f"{name}: no backend, box, model or service of that name; there are {', '.join(sorted(known))}"
            )
    chosen = {box: [unit for words, unit in found if not names or words & set(names)] for box, found in units.items()}
    return {box: found for box, found in chosen.items() if found}


def stream(site: Site, names: Sequence[str], *, lines: int, since: str | None, follow: bool, say: Say) -> None:
    """Print the journal of the units that `names` mean, each line with its box; `follow` goes on until Ctrl-C.

    Box after box, so that what is printed stays readable; all at once with `follow`. Raise BoxError, after all that the
    others have, with those that could not be read.
    """
    failed: list[str] = []

    def read(box: str, units: list[str], tell: Say) -> None:
        params = {"units": units, "lines": lines, "since": since, "follow": follow}
        try:
            for line in site.boxes[box].stream("logs", params):
                tell(f"{box}: {line}")
        except BoxError as error:
            failed.append(str(error))

    wanted = wanted_units(site, names)
    if follow:
        _together([partial(read, box, units) for box, units in wanted.items()], say)
    else:
        for box, units in wanted.items():
            read(box, units, say)
    if failed:
        raise BoxError("\n".join(failed))


def _together(readers: Sequence[Callable[[Say], None]], say: Say) -> None:
    """Run readers side by side until all have ended. Only this thread prints: what goes wrong with that is heard."""
    lines: queue.Queue[str | None] = queue.Queue()

    def run(reader: Callable[[Say], None]) -> None:
        try:
            reader(lines.put)
        finally:
            lines.put(None)

    for reader in readers:
        threading.Thread(target=run, args=(reader,), daemon=True).start()
    left = len(readers)
    while left:
        try:
            line = lines.get(timeout=HEARD)
        except queue.Empty:
            continue
        if line is None:
            left -= 1
        else:
            say(line)


def events(site: Site, lines: int) -> tuple[list[dict[str, Any]], list[str]]:
    """The last `lines` events of all boxes, oldest first, each with `when` in local time; and what could not be read.

    They are in the order of the boxes' own clocks.
    """
    answers = site.each(site.boxes, lambda _box, transport: transport.call("events.read", {"lines": lines}))
    failed = [str(answer) for answer in answers.values() if isinstance(answer, BoxError)]
    found = [event for answer in answers.values() if not isinstance(answer, BoxError) for event in answer]
    found.sort(key=lambda event: float(event["at"]))
    return [{**event, "when": _when(event["at"])} for event in found[-lines:]], failed


def _when(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
