"""What floor-pool is told: /etc/floor/pool.json, written by `desired`. Read once; a change restarts the service."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from pathlib import Path

from floor.box.document import Document
from floor.errors import FloorError

_SERVER = re.compile(r"[A-Za-z0-9_./:\[\]-]+")
_UPSTREAM = re.compile(r"[A-Za-z0-9_]+")


@dataclass(frozen=True)
class Part:
    """One part of a group: its box, its unit there, and the status port that tells of it."""

    box: str
    unit: str
    status_url: str


@dataclass(frozen=True)
class Backend:
    """One copy, or a group with all its `parts`, the head first; its own `unit` is the head's.

    `unit` and `status_url` are None where floor does not manage its box. `stall` is in seconds.

    `server` is the word for it in the members file: its address and port, or `unix:PATH` of a server of nginx's own on
    the way to it, where it wants other headers than the rest. `next` is that word for when it takes the engine key that
    follows the present one; None while no key is being replaced.
    """

    name: str
    url: str
    address: str
    port: int
    server: str
    weight: int
    box: str
    unit: str | None
    status_url: str | None
    dialect: str
    key: bool
    stall: float
    min_speed: float | None
    task: str = "generate"
    next: str | None = None
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True)
class Pool:
    """The copies of one model, and the nginx upstream they are members of.

    `keepalive` is how many idle connections each worker of nginx keeps, `idle` for how many seconds.
    """

    model: str
    upstream: str
    keepalive: int
    idle: float
    backends: tuple[Backend, ...]


@dataclass(frozen=True)
class Settings:
    """`interval` is the seconds between two looks at a backend; key files are None where there is no key. `proxies` are
    the status ports of the proxy boxes, which hold drains."""

    interval: float
    key_file: Path | None
    status_key_file: Path | None
    pools: tuple[Pool, ...]
    proxies: tuple[str, ...] = ()

    @property
    def backends(self) -> tuple[Backend, ...]:
        return tuple(backend for pool in self.pools for backend in pool.backends)


def load(path: Path) -> Settings:
    """Given the settings file, return what it says. Raise FloorError if it is missing or not as it must be."""
    return read(Document.load(path), str(path))


def read(document: Document, where: str) -> Settings:
    """Given the file's content and its name, return the settings. Raise FloorError naming the place that is wrong."""
    settings = Settings(
        interval=document.number("interval"),
        key_file=document.path("key_file") if document.has("key_file") else None,
        status_key_file=document.path("status_key_file") if document.has("status_key_file") else None,
        pools=tuple(_pool(pool) for pool in document.list("pools")),
        proxies=tuple(document.texts("proxies")) if document.has("proxies") else (),
    )
    for what, names in {
        "model": [pool.model for pool in settings.pools],
        "upstream": [pool.upstream for pool in settings.pools],
        "backend name": [backend.name for backend in settings.backends],
    }.items():
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise FloorError(f"{where}: {what} {twice[0]!r} stands there twice; `floor deploy` writes the file anew")
    return settings


def _pool(document: Document) -> Pool:
    upstream = document.text("upstream")
    if not _UPSTREAM.fullmatch(upstream):
        document.fail("upstream", "letters, digits and _ only")
    return Pool(
        model=document.text("model"),
        upstream=upstream,
        keepalive=document.whole("keepalive"),
        idle=document.number("idle"),
        backends=tuple(_backend(backend) for backend in document.list("backends")),
    )


def _backend(document: Document) -> Backend:
    address = document.text("address")
    try:
        ipaddress.ip_address(address)
    except ValueError:
        # nginx would look a name up, and refuse to reload for everybody if it does not resolve.
        document.fail("address", "an IP address without brackets")
    port = document.port("port")
    server = document.text("server") if document.has("server") else netloc(address, port)
    if not _SERVER.fullmatch(server):
        document.fail("server", "ADDRESS:PORT or unix:PATH")
    following = document.text("next") if document.has("next") else None
    if following is not None and not _SERVER.fullmatch(following):
        document.fail("next", "unix:PATH")
    return Backend(
        name=document.text("name"),
        url=document.text("url"),
        address=address,
        port=port,
        server=server,
        weight=document.whole("weight"),
        box=document.text("box"),
        unit=document.text("unit") if document.has("unit") else None,
        status_url=document.text("status_url") if document.has("status_url") else None,
        dialect=document.text("dialect"),
        key=document.flag("key"),
        stall=document.number("stall"),
        min_speed=document.number("min_speed") if document.has("min_speed") else None,
        task=document.text("task") if document.has("task") else "generate",
        next=following,
        parts=tuple(_part(part) for part in document.list("parts")) if document.has("parts") else (),
    )


def _part(document: Document) -> Part:
    return Part(document.text("box"), document.text("unit"), document.text("status_url"))


def netloc(address: str, port: int) -> str:
    """Given an IP address and a port, return them as nginx takes them: IPv6 in brackets."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
