"""What floor-metrics is told: /etc/floor/metrics.json, written by `desired`. A change of it restarts the service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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
    `backends` are read from proxy boxes alone: others tell of themselves. Without a `port` nothing is served to
    Prometheus. `page` is whether nginx shows the status page, which tells of `boxes`: their status ports by name."""

    box: str
    listen: str
    port: int | None
    interval: float
    key_file: Path | None
    proxy: bool
    backends: tuple[Backend, ...]
    page: bool = False
    boxes: Mapping[str, str] = field(default_factory=dict)
    status_key_file: Path | None = None


def load(path: Path) -> Settings:
    """Given the settings file, return what it says. Raise FloorError if it is missing or not as it must be."""
    return read(Document.load(path), str(path))


def read(document: Document, where: str) -> Settings:
    """Given the file's content and its name, return the settings. Raise FloorError naming the place that is wrong."""
    settings = Settings(
        box=document.text("box"),
        listen=document.text("listen"),
        port=document.port("port") if document.has("port") else None,
        interval=document.number("interval"),
        key_file=document.path("key_file") if document.has("key_file") else None,
        proxy=document.flag("proxy"),
        backends=tuple(_backend(one) for one in document.list("backends")),
        page=document.flag("page") if document.has("page") else False,
        boxes={one.text("name"): one.text("status_url") for one in document.list("boxes")}
        if document.has("boxes")
        else {},
        status_key_file=document.path("status_key_file") if document.has("status_key_file") else None,
    )
    names = [backend.name for backend in settings.backends]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise FloorError(f"{where}: backend name {twice[0]!r} stands there twice; `floor deploy` writes the file anew")
    return settings


def of_pools(pools: Document) -> tuple[Backend, ...]:
    """Given a proxy box's pool.json, return who answers there: for who reads without the service."""
    return tuple(
        Backend(
            one.text("name"), one.text("url"), one.text("box"), pool.text("model"), one.text("dialect"), one.flag("key")
        )
        for pool in pools.list("pools")
        for one in pool.list("backends")
    )


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
