"""What the demo prints: a line with the seconds since the start, and the table of `floor status`."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from floor import __version__
from floor.box import memory
from floor.cli.tables import status_table
from floor.desired.state import Kind

from .proxy import Proxy
from .site import MODEL
from .units import CopyUnit

SERVICES = (Kind.PROXY, Kind.POOL, Kind.STATUS)


class Teller:
    """Prints with the time since it was made."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def say(self, text: str) -> None:
        """A line of the story."""
        print(f"{self.seconds:5.1f} s  {text}", flush=True)

    def more(self, text: str, *, end: str = "\n") -> None:
        """What belongs to the line before."""
        print(text, end=end, flush=True)


def table(proxy: Proxy, copies: Sequence[CopyUnit]) -> None:
    """Print the table of `floor status`."""
    print(flush=True)
    status_table(found(proxy, copies))
    print(flush=True)
    sys.stdout.flush()


def found(proxy: Proxy, copies: Sequence[CopyUnit]) -> dict[str, Any]:
    """What `floor status` would have found: boxes and backends in the shape of its --json."""
    site, known = proxy.site, proxy.backends()
    boxes = {name: _box(proxy, name) for name in site.states}
    backends = [_backend(copy, known.get(copy.backend, {}), site.proxy) for copy in copies]
    return {"boxes": boxes, "backends": backends, "warnings": []}


def _box(proxy: Proxy, name: str) -> dict[str, Any]:
    state, seen = proxy.site.states[name], memory.read(Path("/"))
    return {
        "managed": True,
        "release": __version__,
        "mode": state.mode,
        "memory": {"available": seen.available, "total": seen.total},
        "units": {unit.name: {"active": "active"} for unit in state.units if unit.kind in SERVICES},
    }


def _backend(copy: CopyUnit, entry: Mapping[str, Any], box: str) -> dict[str, Any]:
    return {
        "backend": copy.backend,
        "model": MODEL,
        "managed": True,
        "unit": copy.facts.active,
        "member": {box: bool(entry.get("member"))},
        "drains": list(entry.get("drains", ())),
        **{key: entry.get(key) for key in ("reason", "evidence", "running", "waiting")},
    }
