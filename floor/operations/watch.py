"""`floor status --watch`: the site as one proxy box sees it, again and again; another one where that is lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from floor.desired.leave import status_url
from floor.errors import BoxError
from floor.operations.heard import heard
from floor.operations.site import Site, box_facts

PATIENCE = 6.0  # seconds without a line, of which one comes each second; the first one waits for ssh and two looks
AGAIN = 2.0  # seconds before the proxy boxes are tried once more, when none of them told anything


def watch(site: Site) -> Iterator[dict[str, Any]]:
    """Yield what floor.metrics.live composes, each second, for ever; {"lost": why} where no proxy box tells anything.

    Raise BoxError where none of them can be asked at the very first.
    """
    config = site.loaded.config
    facts = box_facts({name: site.resolve(box.host) for name, box in config.boxes.items()}, {})
    boxes = [f"{name}={status_url(config, name, facts)}" for name, box in config.boxes.items() if box.managed]
    ever = False
    while True:
        failed: list[str] = []
        for name in config.proxy.boxes:
            try:
                for line in _within(name, site.boxes[name].stream("live.follow", {"name": name, "boxes": boxes})):
                    document = _read(name, line)
                    ever = True
                    yield document
                failed.append(f"{name}: the connection ended")
            except BoxError as error:
                failed.append(str(error))
        if not ever:
            raise BoxError("\n".join(failed))
        yield {"lost": "; ".join(failed)}
        site.sleep(AGAIN)


def _within(name: str, lines: Iterator[str]) -> Iterator[str]:
    """Pass lines on as they come. Raise what reading them raises, and BoxError where none comes for `PATIENCE` seconds:
    ssh itself needs longer to see that a box is gone."""
    for line in heard(lines, PATIENCE):
        if line is None:
            raise BoxError(f"{name}: no word for {PATIENCE:g} s")
        yield line


def _read(name: str, line: str) -> dict[str, Any]:
    """One line of a box. Raise BoxError where it is none: the next box is tried then."""
    try:
        found = json.loads(line)
    except ValueError:
        found = {}
    if not isinstance(found, dict) or "models" not in found:
        why = found.get("error") if isinstance(found, dict) else None
        raise BoxError(f"{name}: {why or f'told {line[:80]!r}'}")
    return found
