"""TCP connections of this box, and which program holds one end of them. Read from /proc, as proc(5) and the kernel's
Documentation/networking/proc_net_tcp.rst describe it."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from floor.box import processes

_ESTABLISHED = "01"
_SOCKET = re.compile(r"socket:\[(\d+)\]")
_UNIT = re.compile(r"[^/]+\.(?:service|scope)(?=/|$)")
_INTERPRETER = re.compile(r"(python|node|ruby|perl|php|bash|dash|sh|java)[0-9.]*$")
LONGEST = 60  # characters of a name that are told


@dataclass(frozen=True)
class Connection:
    """Both ends as address and port; IPv4 is written as such, also where the socket is one of IPv6."""

    own: tuple[str, int]
    peer: tuple[str, int]
    inode: int


@dataclass(frozen=True)
class Program:
    """Who holds a connection: its process, the unit that it runs in (empty: none), its program's name, with that of the
    script where it runs one, and whether it is one of floor's own: a service, or a call of its agent.

    Never its whole command line: keys stand in those.
    """

    pid: int
    unit: str
    command: str
    floors: bool = False


def established(proc: Path = processes.PROC) -> list[Connection]:
    """Every connection that is up, as the network of the calling process sees it."""
    return _listed(proc / "net")


def elsewhere(proc: Path = processes.PROC) -> list[Connection]:
    """Every connection that is up in another network of this box than the calling process's: those of containers, which
    the boxes that they reach see come from an address of this box."""
    seen, found = {_network(proc / "self")}, []
    for folder in proc.iterdir():
        if not folder.name.isdigit():
            continue
        network = _network(folder)
        if network is not None and network not in seen:
            seen.add(network)
            found += _listed(folder / "net")
    return found


def _listed(folder: Path) -> list[Connection]:
    found = []
    for name in ("tcp", "tcp6"):
        try:
            lines = (folder / name).read_text().splitlines()[1:]
        except OSError:
            continue  # a kernel without IPv6, or the process is gone
        found += [one for line in lines if (one := parse(line)) is not None]
    return found


def _network(process: Path) -> str | None:
    try:
        return str((process / "ns" / "net").readlink())
    except OSError:
        return None  # gone by now


def parse(line: str) -> Connection | None:
    """Given a line of /proc/net/tcp, return the connection; None where it is not up, or is no such line."""
    fields = line.split()
    if len(fields) < 10 or fields[3] != _ESTABLISHED:
        return None
    return Connection(_end(fields[1]), _end(fields[2]), int(fields[9]))


def _end(text: str) -> tuple[str, int]:
    """`0100007F:1F40` → 127.0.0.1 and 8000: the address is in words of four bytes, each in the machine's order."""
    address, _, port = text.partition(":")
    words = [bytes.fromhex(address[at : at + 8])[::-1] for at in range(0, len(address), 8)]
    found = ipaddress.ip_address(b"".join(words))
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped:
        found = found.ipv4_mapped
    return str(found), int(port, 16)


def programs(inodes: Collection[int], proc: Path = processes.PROC) -> dict[int, Program]:
    """Given numbers of sockets, return who holds each; those of processes that are gone by now are left out."""
    found: dict[int, Program] = {}
    for folder in proc.iterdir() if inodes else ():
        if not folder.name.isdigit():
            continue
        for inode in _sockets(folder):
            if inode in inodes and inode not in found:
                found[inode] = _program(int(folder.name), proc)
    return found


def _sockets(folder: Path) -> Iterable[int]:
    try:
        links = list((folder / "fd").iterdir())
    except OSError:
        return
    for link in links:
        try:
            match = _SOCKET.fullmatch(str(link.readlink()))
        except OSError:
            continue
        if match:
            yield int(match[1])


def _program(pid: int, proc: Path) -> Program:
    try:
        units = _UNIT.findall((proc / str(pid) / "cgroup").read_text())
    except OSError:
        units = []
    unit, words = units[-1] if units else "", processes.argv(pid, proc)
    return Program(pid, unit, named(words), unit.startswith("floor-") or _ours(words))


def named(words: Sequence[str]) -> str:
    """Given the words of a command line, return its program's name, and that of the script which it runs."""
    name = words[0].split(" ")[0].rpartition("/")[2].rstrip(":") if words else ""
    script = _script(words[1:]) if _INTERPRETER.match(name) else ""
    return f"{name} {script}"[:LONGEST].strip()


def _script(words: Sequence[str]) -> str:
    """The file that an interpreter runs; nothing where it was given the code itself."""
    for word in words:
        if word in ("-c", "-e"):
            return ""
        if not word.startswith("-"):
            return word.rpartition("/")[2]
    return ""


def _ours(words: Sequence[str]) -> bool:
    return any(one == "-m" and other.startswith("floor.") for one, other in pairwise(words))
