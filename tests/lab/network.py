"""The lab's network: a bridge on this machine, and a network namespace with one wire for each box.

Everything is named after the run (`fl1234-boxa`), 15 characters at most as the kernel asks of interfaces. The machine
itself has the address .1, so tests talk to boxes directly; no box has a route to anywhere else. Boxes have a second
wire to each other (`fab0`), on a bridge of its own: what stands for the fast link of real ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.lab.commands import run


@dataclass(frozen=True)
class Wire:
    """One network namespace: its name (also that of the wire's end on the bridge), its address inside, and that on the
    fabric, empty for a machine without one."""

    name: str
    address: str
    bridge: str
    fabric: str = ""

    @property
    def fabric_end(self) -> str:
        """The name of the fabric's end on its bridge."""
        return f"{self.name}f"


def bridge_name(run_id: str) -> str:
    """Return the name of a run's bridge."""
    return f"{run_id}-br"


def fabric_name(run_id: str) -> str:
    """Return the name of the bridge of a run's fabric."""
    return f"{run_id}-fb"


def raise_bridge(run_id: str, subnet: str) -> None:
    """Make the run's bridge; `subnet` is three numbers such as 10.77.0, the bridge has .1 of it."""
    bridge = bridge_name(run_id)
    run(["ip", "link", "add", bridge, "type", "bridge"])
    run(["ip", "address", "add", f"{subnet}.1/24", "dev", bridge])
    run(["ip", "link", "set", bridge, "up"])
    run(["ip", "link", "add", fabric_name(run_id), "type", "bridge"])
    run(["ip", "link", "set", fabric_name(run_id), "up"])


def plug(wire: Wire) -> None:
    """Make the wire's namespace anew: interfaces, rules and connections of an earlier boot are gone, as after a boot.

    The hardware address follows from the IP address: neighbours' ARP entries hold over a reboot, as with a real card.
    """
    unplug(wire)
    run(["ip", "netns", "add", wire.name])
    inside = ["ip", "-n", wire.name]
    run([*inside, "link", "set", "lo", "up"])
    ends = [(wire.name, "eth0", wire.address, wire.bridge)]
    if wire.fabric:
        ends.append((wire.fabric_end, "fab0", wire.fabric, f"{wire.bridge.rpartition('-')[0]}-fb"))
    for outside, name, address, bridge in ends:
        run(["ip", "link", "add", outside, "type", "veth", "peer", "name", name, "netns", wire.name,
             "address", hardware_address(address)])  # fmt: skip
        run(["ip", "link", "set", outside, "master", bridge, "up"])
        run([*inside, "address", "add", f"{address}/24", "dev", name])
        run([*inside, "link", "set", name, "up"])


def unplug(wire: Wire) -> None:
    """Remove the wire and its namespace, if they are there."""
    run(["ip", "link", "delete", wire.name], check=False)
    if wire.fabric:
        run(["ip", "link", "delete", wire.fabric_end], check=False)
    run(["ip", "netns", "delete", wire.name], check=False)


def hardware_address(address: str) -> str:
    """Return a locally administered MAC address that holds the four numbers of `address`."""
    return "02:f1:" + ":".join(f"{int(number):02x}" for number in address.split("."))


def cut(wire: Wire) -> None:
    """Take the wire's ends on the bridges down: packets vanish, nothing is refused."""
    _set(wire.name, "down")
    if wire.fabric:
        cut_fabric(wire)


def mend(wire: Wire) -> None:
    """Take the wire's ends on the bridges up again."""
    _set(wire.name, "up")
    if wire.fabric:
        mend_fabric(wire)


def cut_fabric(wire: Wire) -> None:
    """Take the way to the other boxes' fabric addresses, and no other."""
    _set(wire.fabric_end, "down")


def mend_fabric(wire: Wire) -> None:
    """Give it back."""
    _set(wire.fabric_end, "up")


def _set(link: str, state: str) -> None:
    run(["ip", "link", "set", link, state])
