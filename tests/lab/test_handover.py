"""The shared address from one box to the next, in the kernel: three namespaces on a bridge and no box around them."""

from __future__ import annotations

import ctypes
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import pytest

from floor.box import handover
from floor.box.address import Settings
from floor.box.command import Result, run

Value = TypeVar("Value")
NETWORK = 0x40000000  # CLONE_NEWNET of sched.h
PORT = 9999
OLD, NEW, CLIENT = "old", "new", "client"
FAMILIES = pytest.mark.parametrize(
    ("family", "shared", "own"),
    [(socket.AF_INET, "192.0.2.10", "192.0.2.{}"), (socket.AF_INET6, "fd00::10", "fd00::{}")],
    ids=["IPv4", "IPv6"],
)


class Net:
    """Three machines that are networks alone: the box that leaves, the one after it, and a client."""

    def __init__(self) -> None:
        self.names = {machine: f"fh{os.getpid()}{machine[0]}" for machine in (OLD, NEW, CLIENT)}
        self.bridge = f"fh{os.getpid()}br"

    def begin(self) -> None:
        must(["ip", "link", "add", self.bridge, "type", "bridge"])
        must(["ip", "link", "set", self.bridge, "up"])
        for number, (machine, name) in enumerate(self.names.items(), 11):
            must(["ip", "netns", "add", name])
            must(["ip", "link", "add", name, "type", "veth", "peer", "name", "e0", "netns", name])
            must(["ip", "link", "set", name, "master", self.bridge, "up"])
            for words in (["link", "set", "lo", "up"], ["link", "set", "e0", "up"]):
                must(["ip", "-n", name, *words])
            self.on(machine, ["ip", "address", "add", f"192.0.2.{number}/24", "dev", "e0"])
            self.on(machine, ["ip", "address", "add", f"fd00::{number}/64", "dev", "e0", "nodad"])

    def end(self) -> None:
        for name in self.names.values():
            run(["ip", "link", "delete", name])
            run(["ip", "netns", "delete", name])
        run(["ip", "link", "delete", self.bridge])

    def on(self, machine: str, argv: Sequence[str], text: str | None = None) -> Result:
        """Run a command with a machine's network."""
        return run(["ip", "netns", "exec", self.names[machine], *argv], text=text)

    def there(self, machine: str, make: Callable[[], Value]) -> Value:
        """Make something, such as a socket, in a machine's network: a thread may enter it and end there, alone."""

        def enter() -> Value:
            handle = os.open(Path("/run/netns") / self.names[machine], os.O_RDONLY)
            assert ctypes.CDLL(None, use_errno=True).setns(handle, NETWORK) == 0
            os.close(handle)
            return make()

        with ThreadPoolExecutor(1) as thread:
            return thread.submit(enter).result()

    def echo(self, machine: str, family: socket.AddressFamily) -> None:
        """Answer on PORT with the machine's name and what came."""
        server = self.there(machine, lambda: socket.create_server(("", PORT), family=family))

        def serve(way: socket.socket) -> None:
            with way:
                while data := way.recv(100):
                    way.sendall(machine.encode() + b" " + data)

        def accept() -> None:
            while True:
                threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()

    def move(self, shared: str, prefix: int) -> None:
        """What keepalived does, but for telling the network."""
        self.on(OLD, ["ip", "address", "delete", f"{shared}/{prefix}", "dev", "e0"])
        self.on(NEW, ["ip", "address", "add", f"{shared}/{prefix}", "dev", "e0", *(["nodad"] if prefix > 32 else [])])
        self.on(CLIENT, ["ip", "neigh", "flush", "all"])


def must(argv: Sequence[str]) -> None:
    result = run(argv)
    assert result.ok, f"{argv}: {result.said}"


@pytest.fixture
def net() -> Iterator[Net]:
    made = Net()
    try:
        made.begin()
        yield made
    finally:
        made.end()


def said(way: socket.socket, word: bytes) -> bytes:
    way.sendall(word)
    return way.recv(100)


@FAMILIES
def test_old_connections_go_on_and_new_ones_begin_elsewhere(
    net: Net, family: socket.AddressFamily, shared: str, own: str
) -> None:
    """The client forgets where the address is and has to ask again: the new box answers, the old one is silent."""
    prefix = 32 if family is socket.AF_INET else 128
    must(["ip", "-n", net.names[OLD], "address", "add", f"{shared}/{prefix}", "dev", "e0"])
    time.sleep(2.5 if prefix > 32 else 0)  # an address of IPv6 is looked for by others first
    leaves, comes = (Settings(shared, "e0", own.format(number), Path("/k"), (), 60) for number in (11, 12))
    for machine in (OLD, NEW):
        net.echo(machine, family)
    dial = lambda: socket.create_connection((shared, PORT), timeout=5)  # noqa: E731
    with net.there(CLIENT, dial) as first:
        assert said(first, b"1") == b"old 1"
        mac = handover.hardware("e0", lambda argv: net.on(OLD, argv))
        handover.catch(comes, mac, lambda argv: net.on(NEW, argv), lambda text: net.on(NEW, ["nft", "-f", "-"], text))
        handover.keep(leaves, lambda argv: net.on(OLD, argv), lambda text: net.on(OLD, ["nft", "-f", "-"], text))
        net.move(shared, prefix)
        assert said(first, b"2") == b"old 2"
        with net.there(CLIENT, dial) as second:
            assert said(second, b"3") == b"new 3"
            assert said(first, b"4") == b"old 4"
        assert handover.connections(leaves, lambda argv: net.on(OLD, argv)) == 1
    handover.end_keep(leaves, lambda argv: net.on(OLD, argv))
    handover.end_catch(lambda argv: net.on(NEW, argv))
    assert [net.on(machine, ["nft", "list", "tables"]).out for machine in (OLD, NEW)] == ["", ""]
    with net.there(CLIENT, dial) as third:
        assert said(third, b"5") == b"new 5"
