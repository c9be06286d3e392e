"""The shared address goes from box to box without losing a request: what the leaving box and the one after it do.

    the box that leaves                                  the others
    marks that it leaves; its status port tells it  ->   send on to it what belongs to connections that they did not see
    has heard that, and keeps the address on `lo`  <-    begin; their status ports tell that
    keepalived ends: the address goes                    one takes it: what begins from now on is its own
    waits until its connections have ended
    takes the address off, and the mark             ->   send nothing on any more

A box that leaves itself sends nothing on, so no packet goes round in a circle.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from floor.box import files, paths
from floor.box.address import IP, Settings
from floor.box.command import Result, Run, run
from floor.box.locked import mine
from floor.errors import FloorError

NFT = "/usr/sbin/nft"
MAC = re.compile(r"([0-9a-f]{2}:){5}[0-9a-f]{2}")
CATCH_TABLE, SILENT_TABLE = ("netdev", "floor_address"), ("arp", "floor_address")
SLACK = 60.0  # seconds that a connection is remembered beyond the longest request

Load = Callable[[str], Result]


def load(rules: str) -> Result:
    """Given rules of nftables, load them."""
    return run([NFT, "-f", "-"], text=rules)


def hardware(interface: str, do: Run = run) -> str:
    """Given an interface, return its hardware address. Raise FloorError where it has none."""
    # Not from /sys: in a container that may show another network.
    result = do([IP, "-o", "link", "show", "dev", interface])
    if not result.ok:
        raise FloorError(f"{interface}: there is no such interface: {result.said}")
    found = MAC.search(result.out.partition("link/ether ")[2][:17])
    if not found:
        raise FloorError(f"{interface}: has no hardware address by which another box could reach it")
    return found[0]


def told(root: Path = paths.ROOT) -> dict[str, str | None]:
    """What a box tells of the shared address: its own hardware address while it leaves, that of whom it catches for."""
    return {"leaves": _read(paths.ADDRESS_LEAVES, root), "catches": _read(paths.ADDRESS_CATCHES, root)}


def mark(place: Path, value: str | None, root: Path = paths.ROOT) -> None:
    """Write a mark with a hardware address, or take it away."""
    if value is None:
        paths.under(root, place).unlink(missing_ok=True)
    else:
        files.write(place, json.dumps({"mac": value}) + "\n", owner=mine(), root=root)


def leaver(statuses: Sequence[Mapping[str, Any] | None], *, leaving: bool) -> str | None:
    """Given what the boxes tell of the address and whether this one leaves itself, return the hardware address of the
    box to which its connections are to be sent on; None for nobody, and where more than one asks for it."""
    found = {mac for one in statuses if one and isinstance(mac := one.get("leaves"), str) and MAC.fullmatch(mac)}
    return found.pop() if len(found) == 1 and not leaving else None


def catch(settings: Settings, other: str, do: Run = run, load: Load = load) -> None:
    """From now on send on to `other` what comes for the shared address and did not begin here. Raise FloorError."""
    four = ipaddress.ip_address(settings.address).version == 4
    text = _template(
        "nftables/catch.nft.j2",
        family="ipv4" if four else "ipv6",
        word="ip" if four else "ip6",
        address=settings.address,
        interface=settings.interface,
        own=hardware(settings.interface, do),
        other=other,
        seconds=round(settings.within + SLACK),
    )
    _must(load(text))


def end_catch(do: Run = run) -> None:
    """Send nothing on any more."""
    _unload(CATCH_TABLE, do)


def keep(settings: Settings, do: Run = run, load: Load = load) -> None:
    """Keep the shared address on the loopback, so that connections go on when the interface loses it."""
    if ipaddress.ip_address(settings.address).version == 4:  # of IPv6 an interface answers for its own alone
        _must(load(_template("nftables/silent.nft.j2", address=settings.address, own=settings.own)))
    result = do([IP, "address", "replace", *_on_loopback(settings)])
    if not result.ok:
        _unload(SILENT_TABLE, do)
        raise FloorError(f"{settings.address} cannot be kept: {result.said}")


def end_keep(settings: Settings, do: Run = run) -> None:
    """Undo `keep`; nothing where it was not done."""
    do([IP, "address", "delete", *_on_loopback(settings)])
    _unload(SILENT_TABLE, do)


def connections(settings: Settings, do: Run = run) -> int:
    """How many connections this box has under the shared address that are not over yet."""
    literal = f"[{settings.address}]" if ":" in settings.address else settings.address
    states = ("state", "connected", "exclude", "time-wait", "exclude", "fin-wait-2", "exclude", "last-ack")
    result = do(["/usr/bin/ss", "-Htn", *states, "src", literal])
    return len(result.out.splitlines()) if result.ok else 0


def _on_loopback(settings: Settings) -> list[str]:
    prefix = ipaddress.ip_address(settings.address).max_prefixlen
    return [f"{settings.address}/{prefix}", "dev", "lo"]


def _template(name: str, **values: object) -> str:
    from floor.render import template  # late: who only tells of a handover does not pay for it

    return template(name, **values)


def _must(result: Result) -> None:
    if not result.ok:
        raise FloorError(f"nft refuses the rules for a handover: {result.said}")


def _unload(table: tuple[str, str], do: Run) -> None:
    do([NFT, "delete", "table", *table])


def _read(place: Path, root: Path) -> str | None:
    try:
        found = json.loads(paths.under(root, place).read_text())["mac"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if isinstance(found, str) else None
