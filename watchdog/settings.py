"""What the watchdog is told: /etc/floor/watchdog.json, written by `desired`. Read at each run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from floor.box.document import Document
from floor.notify.settings import Notify
from floor.notify.settings import read as read_notify


@dataclass(frozen=True)
class Copy:
    """One copy of this box, or its part of a group. Times are seconds; `modes` are those that want it, `docker` whether
    it is a container. A part that answers nobody (all but a group's head) has no `url` and port 0."""

    backend: str
    unit: str
    url: str
    model: str
    dialect: str
    port: int
    key: bool
    docker: bool
    modes: tuple[str, ...]
    stall: float
    start_time: float
    request_time: float


@dataclass(frozen=True)
class Settings:
    """`interval` is the seconds between two runs, `restarts` how many acts an hour may have for each copy (0: none)."""

    interval: float
    restarts: int
    key_file: Path
    copies: tuple[Copy, ...]
    notify: Notify


def load(path: Path) -> Settings:
    """Given the settings file, return what it says. Raise FloorError if it is missing or not as it must be."""
    return read(Document.load(path))


def read(document: Document) -> Settings:
    """Given the file's content, return the settings. Raise FloorError naming the place that is wrong."""
    return Settings(
        interval=document.number("interval"),
        restarts=document.whole("restarts") if document.has("restarts") else 0,
        key_file=document.path("key_file"),
        copies=tuple(_copy(copy) for copy in document.list("copies")),
        notify=read_notify(document.list("notify")),
    )


def _copy(document: Document) -> Copy:
    return Copy(
        backend=document.text("backend"),
        unit=document.text("unit"),
        url=document.text("url") if document.has("url") else "",
        model=document.text("model"),
        dialect=document.text("dialect"),
        port=document.port("port") if document.has("port") else 0,
        key=document.flag("key"),
        docker=document.flag("docker"),
        modes=document.texts("modes"),
        stall=document.number("stall"),
        start_time=document.number("start_time"),
        request_time=document.number("request_time"),
    )
