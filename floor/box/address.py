"""The address that the proxies share, as its settings on a box name it: who else has it, and its end here."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from floor.box import paths
from floor.box.command import Run, run
from floor.box.document import Document
from floor.box.neighbours import Ask, who_has
from floor.errors import FloorError

IP = "/usr/sbin/ip"


@dataclass(frozen=True)
class Peer:
    """Another proxy box: its address in the network of the shared one, and where its status port is asked."""

    box: str
    address: str
    status_url: str


@dataclass(frozen=True)
class Settings:
    """/etc/floor/address.json. `own` is this box's own address in the network of the shared one; `within` are the
    seconds that a request may take."""

    address: str
    interface: str
    own: str
    status_key_file: Path
    peers: tuple[Peer, ...]
    within: float


def load(root: Path = paths.ROOT) -> Settings:
    """Given the root of all paths, return the settings. Raise FloorError where they are missing or not as they must."""
    found = Document.load(paths.under(root, paths.ADDRESS_SETTINGS))
    return Settings(
        address=found.text("address"),
        interface=found.text("interface"),
        own=found.text("own"),
        status_key_file=found.path("status_key_file"),
        peers=tuple(Peer(one.text("box"), one.text("address"), one.text("status_url")) for one in found.list("peers")),
        within=found.number("within"),
    )


def strangers(address: str, interface: str, peers: Sequence[str], ask: Ask = who_has) -> list[str]:
    """Given the shared address, the interface that is to hold it and the addresses of the other proxy boxes there,
    return the hardware addresses of who has it and is none of them. Raise FloorError where that cannot be asked."""
    holders = ask(interface, address)
    for peer in peers if holders else ():
        holders -= ask(interface, peer)
    return sorted(holders)


def held(settings: Settings, do: Run = run) -> bool:
    """Whether this box's interface has the shared address now."""
    return bool(do([IP, "-o", "address", "show", "to", *_place(settings)]).out.strip())


def let_go(settings: Settings, do: Run = run) -> bool:
    """Take the shared address off this box's interface; return whether it was there. Raise FloorError if it stays."""
    if not held(settings, do):
        return False
    result = do([IP, "address", "delete", *_place(settings)])
    if not result.ok:
        raise FloorError(f"{settings.address} stays on {settings.interface}: {result.said}")
    return True


def _place(settings: Settings) -> list[str]:
    prefix = ipaddress.ip_address(settings.address).max_prefixlen
    return [f"{settings.address}/{prefix}", "dev", settings.interface]
