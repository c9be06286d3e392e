"""Which process listens on which TCP port, from /proc alone."""

from __future__ import annotations

import ipaddress
import sys
from pathlib import Path

LISTEN = "0A"  # include/net/tcp_states.h


def listening(proc: Path) -> dict[str, list[tuple[int, str]]]:
    """Given /proc, return by inode of a socket the ports and addresses that it listens on."""
    found: dict[str, list[tuple[int, str]]] = {}
    for name in ("tcp", "tcp6"):
        try:
            lines = (proc / "net" / name).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            words = line.split()
            if len(words) > 9 and words[3] == LISTEN:
                address, _, port = words[1].partition(":")
                found.setdefault(words[9], []).append((int(port, 16), _address(address)))
    return found


def _address(text: str) -> str:
    """The kernel writes each 32-bit word of an address in its own byte order."""
    words = [int(text[place : place + 8], 16) for place in range(0, len(text), 8)]
    packed = b"".join(word.to_bytes(4, sys.byteorder) for word in words)
    address = ipaddress.ip_address(packed)
    return str(getattr(address, "ipv4_mapped", None) or address)


def of(pid: int, proc: Path) -> tuple[set[str], bool]:
    """Given a process, return the inodes of its sockets, and whether it has a GPU's device open.

    Empty for one that is gone or not ours to see.
    """
    inodes: set[str] = set()
    gpu = False
    try:
        links = list((proc / str(pid) / "fd").iterdir())
    except OSError:
        return inodes, gpu
    for link in links:
        try:
            target = str(link.readlink())
        except OSError:
            continue
        if target.startswith("socket:["):
            inodes.add(target[8:-1])
        gpu = gpu or target.startswith(("/dev/nvidia", "/dev/kfd", "/dev/dri/render"))
    return inodes, gpu
