"""What floor-metrics is told: /etc/floor/metrics.json, written by `desired`. A change of it restarts the service."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from floor.box.document import Document
from floor.errors import FloorError


@dataclass(frozen=True)
class Backend:
    """One copy to read: where it answers, in which dialect, and whether it wants the engine key.

    `servers` are the words by which nginx tells of it in its log.
    """

    name: str
    url: str
    box: str
    model: str
    dialect: str
    key: bool
    servers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Settings:
    """`box` is this box's name, `interval` the seconds between two looks at a copy, `proxy` whether nginx runs here.
    `backends` are read from proxy boxes alone: others tell of themselves."""

    box: str
    listen: str
    port: int
    interval: float
    key_file: Path | None
    proxy: bool
    backends: tuple[Backend, ...]


def load(path: Path) -> Settings:
    """Given the settings file, return what it says. Raise FloorError if it is missing or not as it must be."""
    return read(Document.load(path), str(path))


def read(document: Document, where: str) -> Settings:
    """Given the file's content and its name, return the settings. Raise FloorError naming the place that is wrong."""
    settings = Settings(
        box=document.text("box"),
        listen=document.text("listen"),
        port=document.port("port"),
        interval=document.number("interval"),
        key_file=document.path("key_file") if document.has("key_file") else None,
        proxy=document.flag("proxy"),
        backends=tuple(_backend(one) for one in document.list("backends")),
    )
    names = [backend.name for backend in settings.backends]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise FloorError(f"{where}: backend name {twice[0]!r} stands there twice; `floor deploy` writes the file anew")
    return settings


def _backend(document: Document) -> Backend:
    return Backend(
        name=document.text("name"),
        url=document.text("url"),
        box=document.text("box"),
        model=document.text("model"),
        dialect=document.text("dialect"),
        key=document.flag("key"),
        servers=document.texts("servers") if document.has("servers") else (),
    )
