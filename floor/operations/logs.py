"""`floor logs` and `floor events`: what the boxes wrote down."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from floor.errors import BoxError, UsageError
from floor.operations.site import Site

Say = Callable[[str], None]
SERVICES = {"proxy": "floor-proxy.service", "pool": "floor-pool.service", "agent": "floor-agent.service"}


def wanted_units(site: Site, names: Sequence[str]) -> dict[str, list[str]]:
    """Given backends, boxes, models or services (none: all), return the units to read on each box. Raise UsageError."""
    config = site.loaded.config
    units: dict[str, list[tuple[set[str], str]]] = {box: [] for box in site.boxes}
    for model in config.models:
        for copy in config.copies(model):
            if copy.box in units:
                units[copy.box].append(({copy.backend, copy.box, model}, f"floor-copy-{model}.service"))
    for box in units:
        units[box] += [({name, box}, unit) for name, unit in SERVICES.items()]
    known = {word for found in units.values() for words, _ in found for word in words}
    for name in names:
        if name not in known:
            raise UsageError(
                f"{name}: no backend, box, model or service of that name; there are {', '.join(sorted(known))}"
            )
    chosen = {box: [unit for words, unit in found if not names or words & set(names)] for box, found in units.items()}
    return {box: found for box, found in chosen.items() if found}


def stream(site: Site, names: Sequence[str], *, lines: int, since: str | None, follow: bool, say: Say) -> None:
    """Print the journal of the units that `names` mean, each line with its box; `follow` goes on until Ctrl-C."""
    lock = threading.Lock()
    failed: list[str] = []

    def read(box: str, units: list[str]) -> None:
        params = {"units": units, "lines": lines, "since": since, "follow": follow}
        try:
            for line in site.boxes[box].stream("logs", params):
                with lock:
                    say(f"{box}: {line}")
        except BoxError as error:
            failed.append(str(error))

    threads = [
        threading.Thread(target=read, args=(box, units), daemon=True)
        for box, units in wanted_units(site, names).items()
    ]
    for thread in threads:
        thread.start()
        if not follow:
            thread.join()  # box after box, so that what is printed stays readable
    for thread in threads:
        while thread.is_alive():
            thread.join(0.5)  # in slices: Ctrl-C is heard between them
    if failed:
        raise BoxError("\n".join(failed))


def events(site: Site, lines: int) -> list[dict[str, Any]]:
    """The last `lines` events of all boxes, oldest first, each with `when` in local time."""
    found: list[dict[str, Any]] = []
    for answer in site.each(
        site.boxes, lambda _box, transport: transport.call("events.read", {"lines": lines})
    ).values():
        if isinstance(answer, BoxError):
            raise answer
        found += answer
    found.sort(key=lambda event: float(event["at"]))
    return [{**event, "when": _when(event["at"])} for event in found[-lines:]]


def _when(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
