"""`boxes`: the machines."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from floor.config.values import Address, Flag, Host, Part, Port, Size, Write

LOCAL = "local"

Destination = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9][^\s\x00-\x1f\x7f]*$", max_length=255),
    Write("what you would give to ssh, such as ops@spark-a, or local for this machine"),
]
Interface = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.@-]{0,14}$"), Write("a network interface, such as enp1s0f1np1")
]
Device = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_:-]{0,63}$"), Write("an RDMA device, such as rocep1s0f1")
]


class Fabric(Part):
    """The fast link between the boxes of a split model."""

    interface: Interface
    """Network interface of the link."""
    address: Address
    """This box's own address on the link."""
    hca: list[Device] = Field(default_factory=list)
    """Its RDMA devices: both twins of a GB10's port. Default: none."""


class Box(Part):
    """A machine."""

    host: Host
    """Address or name by which the other boxes reach it; IPv6 without brackets. Engines listen on it."""
    ssh: Destination | None = None
    """What you would give to ssh; `local` is this machine. Default: the name of the box."""
    managed: Flag = True
    """false: floor routes to it and checks it, and never changes it."""
    keep_free: Size = 8 * 2**30
    """Memory that must stay free beyond all that runs there."""
    fabric: Fabric | None = None
    """The fast link to the other boxes, for split models. Default: none."""
    status_port: Port = 8099
    """Port of the read-only status page that the pools ask."""
