"""What a box must hold: the files, the units, and what each unit's process must have been started with."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


@dataclass(frozen=True)
class Network:
    """An address of a box with the length of its network's prefix, and the interface that has it."""

    interface: str
    address: str
    prefix: int


@dataclass(frozen=True)
class BoxFacts:
    """What the renderer needs to know of a box and cannot read in floor.yaml.

    `address` is the IP literal that its host resolved to, None where it did not resolve. `sources` are the addresses
    that it has as a sender, by the address that it sends to: with several networks that may be another one.
    `rotating` while the engine key is being replaced there: some engines take the present one, some the next.
    `networks` are those that it is in; the place of the proxies' shared address is found among them.
    """

    address: str | None
    ipv6: bool = False
    nginx_user: str = "www-data"
    sources: Mapping[str, str] = field(default_factory=dict, hash=False)
    rotating: bool = False
    networks: tuple[Network, ...] = ()


@dataclass(frozen=True)
class File:
    """A file as it must lie on a box; `path` is absolute, `owner` is user:group."""

    path: str
    text: str
    mode: int = 0o644
    owner: str = "root:root"

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


MODES = ("replicas", "split")


class Kind(StrEnum):
    """What a unit runs: GROUP one part of a group, GROUPS the service that ends parts which have to begin anew."""

    COPY = "copy"
    GROUP = "group"
    GROUPS = "groups"
    PROXY = "proxy"
    POOL = "pool"
    METRICS = "metrics"
    STATUS = "status"
    TARGET = "target"
    FIREWALL = "firewall"
    GUARD = "guard"
    TIMER = "timer"
    ROUND = "round"  # what a timer starts; nobody else starts, stops or enables it
    ADDRESS = "address"


@dataclass(frozen=True)
class Launch:
    """What a unit's main process must have been started with; secrets are never part of it.

    `argv` is what /proc/PID/cmdline holds, `env` what the main process's environment must hold besides FLOOR_LAUNCH (a
    container's own variables are in `argv`), `image` a docker reference, `extra` whatever else asks for a new process
    when it changes (a service's settings, floor's release).
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    image: str | None = None
    extra: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """Sixteen hex digits that change when any of it does; the unit carries them as FLOOR_LAUNCH."""
        parts = [list(self.argv), sorted(self.env.items()), self.image, list(self.extra)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Unit:
    """A systemd unit of ours. A change of a file in `reload_on` asks for a reload, of `launch` for a restart.

    It lies on its box and is enabled in every mode; `modes` are those in which it is to run.
    """

    name: str
    kind: Kind
    launch: Launch
    backend: str | None = None
    reload_on: tuple[str, ...] = ()
    modes: tuple[str, ...] = MODES

    def runs(self, mode: str) -> bool:
        """Whether the unit is to run in `mode`."""
        return mode in self.modes


@dataclass(frozen=True)
class BoxState:
    """All that floor wants on one box in `mode`, secrets and floor's own release folder aside."""

    box: str
    release: str
    mode: str
    files: tuple[File, ...]
    units: tuple[Unit, ...]

    def file(self, path: str) -> File | None:
        """Given an absolute path, return the file that must lie there, or None."""
        return next((file for file in self.files if file.path == path), None)
