"""The lab's network: a bridge on this machine, and a network namespace with one wire for each box.

Everything is named after the run (`fl1234-boxa`), 15 characters at most as the kernel asks of interfaces. The machine
itself has the address .1, so tests talk to boxes directly; no box has a route to anywhere else.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.lab.commands import run


@dataclass(frozen=True)
class Wire:
    """One network namespace: its name (also that of the wire's end on the bridge), and its address inside."""

    name: str
    address: str
    bridge: str


def bridge_name(run_id: str) -> str:
    """Return the name of a run's bridge."""
    return f"{run_id}-br"


def raise_bridge(run_id: str, subnet: str) -> None:
    """Make the run's bridge; `subnet` is three numbers such as 10.77.0, the bridge has .1 of it."""
    bridge = bridge_name(run_id)
    run(["ip", "link", "add", bridge, "type", "bridge"])
    run(["ip", "address", "add", f"{subnet}.1/24", "dev", bridge])
    run(["ip", "link", "set", bridge, "up"])


def plug(wire: Wire) -> None:
    """Make the wire's namespace anew: interfaces, rules and connections of an earlier boot are gone, as after a boot.

    The hardware address follows from the IP address: neighbours' ARP entries hold over a reboot, as with a real card.
    """
    unplug(wire)
    run(["ip", "netns", "add", wire.name])
    run(["ip", "link", "add", wire.name, "type", "veth", "peer", "name", "eth0", "netns", wire.name,
         "address", hardware_address(wire.address)])  # fmt: skip
    run(["ip", "link", "set", wire.name, "master", wire.bridge, "up"])
    inside = ["ip", "-n", wire.name]
    run([*inside, "address", "add", f"{wire.address}/24", "dev", "eth0"])
    run([*inside, "link", "set", "lo", "up"])
    run([*inside, "link", "set", "eth0", "up"])


def unplug(wire: Wire) -> None:
    """Remove the wire and its namespace, if they are there."""
    run(["ip", "link", "delete", wire.name], check=False)
    run(["ip", "netns", "delete", wire.name], check=False)


def hardware_address(address: str) -> str:
    """Return a locally administered MAC address that holds the four numbers of `address`."""
    return "02:f1:" + ":".join(f"{int(number):02x}" for number in address.split("."))


def cut(wire: Wire) -> None:
    """Take the wire's end on the bridge down: packets vanish, nothing is refused."""
    run(["ip", "link", "set", wire.name, "down"])


def mend(wire: Wire) -> None:
    """Take the wire's end on the bridge up again."""
    run(["ip", "link", "set", wire.name, "up"])
