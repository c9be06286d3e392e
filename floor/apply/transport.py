"""How each managed box of a configuration is reached. What the rest of floor needs of it is imported from here."""

from __future__ import annotations

from floor.apply.exchange import FailedError, NotInstalledError, Transport, UnreachableError, give_up
from floor.apply.local import LocalTransport
from floor.apply.ssh import SshTransport
from floor.config.model import Config

__all__ = [
    "LOCAL",
    "FailedError",
    "LocalTransport",
    "NotInstalledError",
    "SshTransport",
    "Transport",
    "UnreachableError",
    "connect",
    "give_up",
    "open_to",
]

LOCAL = "local"  # the destination that means this very machine


def open_to(box: str, destination: str) -> Transport:
    """Given a box's name and its destination, return how to reach it."""
    return LocalTransport(box) if destination == LOCAL else SshTransport(box, destination)


def connect(config: Config) -> dict[str, Transport]:
    """Return a transport by name for each managed box; nothing is connected before the first call."""
    return {name: open_to(name, config.destination(name)) for name, box in config.boxes.items() if box.managed}
