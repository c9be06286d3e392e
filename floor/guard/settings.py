"""What the guard is told: /etc/floor/guard.json, written by `desired`. Read once; a change restarts the service."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from floor.box.document import Document
from floor.sizes import GIB

MODES = ("protect", "observe")
# Where no floor is given. A healthy box at a share of 0.87 rests at 4.9 GiB available, so the floor lies well below
# what a box rests at; on a small box it is a fortieth.
FLOOR, FLOOR_PART = 3 * GIB, 40


@dataclass(frozen=True)
class Copy:
    """One copy of this box. `utilization` is its share of the memory (None: the engine's own choice, or none),
    `cache_memory` bytes, `card` whether it takes its memory as a GPU does."""

    backend: str
    unit: str
    docker: bool
    card: bool
    utilization: float | None
    cache_memory: int | None


@dataclass(frozen=True)
class Settings:
    """`mode` is protect or observe, `floor` the bytes available at which an engine is taken down (None: by size),
    `keep_free` those that should stay free beyond all that runs here."""

    mode: str
    floor: int | None
    keep_free: int
    copies: tuple[Copy, ...]

    def copy(self, unit: str) -> Copy | None:
        """Given a unit's name, return its copy, or None."""
        return next((copy for copy in self.copies if copy.unit == unit), None)


def floor_of(settings: Settings, total: int) -> int:
    """Given the settings and the bytes of the whole box, return the floor in bytes."""
    return settings.floor if settings.floor is not None else min(FLOOR, total // FLOOR_PART)


def load(path: Path) -> Settings:
    """Given the settings file, return what it says. Raise FloorError if it is missing or not as it must be."""
    return read(Document.load(path))


def read(document: Document) -> Settings:
    """Given the file's content, return the settings. Raise FloorError naming the place that is wrong."""
    mode = document.text("mode")
    if mode not in MODES:
        document.fail("mode", " or ".join(MODES))
    return Settings(
        mode=mode,
        floor=document.whole("floor") if document.has("floor") else None,
        keep_free=int(document.number("keep_free")) if document.has("keep_free") else 0,
        copies=tuple(_copy(copy) for copy in document.list("copies")),
    )


def _copy(document: Document) -> Copy:
    return Copy(
        backend=document.text("backend"),
        unit=document.text("unit"),
        docker=document.flag("docker"),
        card=document.flag("card"),
        utilization=document.number("utilization") if document.has("utilization") else None,
        cache_memory=document.whole("cache_memory") if document.has("cache_memory") else None,
    )
