"""Processes of this box: what they were started with, which belong to a unit, which listen where."""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from floor.box import paths

LOOKS = 5  # at the sockets, where a process that held one was gone
PROC = Path("/proc")
CGROUPS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd")


def argv(pid: int, proc: Path = PROC) -> list[str]:
    """Given a process id, return what it was started with; empty for a process that is gone or of the kernel.

    A process that wrote a title over its arguments (nginx) gives that title as the only word.
    """
    words = _read(proc / str(pid) / "cmdline").rstrip(b"\0").split(b"\0")
    return [] if words == [b""] else [os.fsdecode(word) for word in words]


def environ(pid: int, keys: Iterable[str], proc: Path = PROC) -> dict[str, str]:
    """Given a process id and names of variables, return those it was started with; others are never looked at."""
    wanted = set(keys)
    found = {}
    for entry in _read(proc / str(pid) / "environ").split(b"\0"):
        key, mark, value = entry.partition(b"=")
        if mark and os.fsdecode(key) in wanted:
            found[os.fsdecode(key)] = os.fsdecode(value)
    return found


def started(pid: int, proc: Path = PROC) -> float | None:
    """Given a process id, return the unix time at which it began, to 10 ms; None for one that is gone.

    Not by `btime` of /proc/stat, which is cut to whole seconds.
    """
    fields = _stat(pid, proc)
    if not fields:
        return None
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return time.time() - age


def children(pid: int, proc: Path = PROC) -> list[int]:
    """Given a process id, return its direct children."""
    found = []
    for folder in proc.iterdir():
        if folder.name.isdigit():
            fields = _stat(int(folder.name), proc)
            if fields and int(fields[1]) == pid:
                found.append(int(folder.name))
    return sorted(found)


def resident(pid: int, proc: Path = PROC) -> int:
    """Given a process id, return the bytes that it holds and that no file is behind; 0 for one that is gone."""
    found = re.search(rb"^RssAnon:\s+(\d+) kB$", _read(proc / str(pid) / "status"), re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def parent(pid: int, proc: Path = PROC) -> int | None:
    """Given a process id, return its parent's; None for one that is gone."""
    fields = _stat(pid, proc)
    return int(fields[1]) if fields else None


def _stat(pid: int, proc: Path) -> list[str]:
    """The fields of /proc/PID/stat after the command, which may itself hold spaces and brackets (proc(5))."""
    text = os.fsdecode(_read(proc / str(pid) / "stat"))
    return text.rpartition(") ")[2].split()


def in_cgroup(group: str, root: Path = paths.ROOT) -> list[int]:
    """Given a unit's ControlGroup, return every process in it and below it; empty when the group is gone.

    Looks where systemd mounts it: unified, hybrid or version 1.
    """
    if not group.strip("/"):
        return []
    for mount in CGROUPS:
        folder = paths.under(root, mount) / group.lstrip("/")
        if (folder / "cgroup.procs").exists():
            return sorted({int(pid) for procs in _below(folder) for pid in _read(procs).split()})
    return []


def _below(folder: Path) -> list[Path]:
    return [Path(place, "cgroup.procs") for place, _, _ in os.walk(folder)]


def _read(path: Path) -> bytes:
    """A process or its group may end between any two looks at it: what is gone reads as empty."""
    try:
        return path.read_bytes()
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ESRCH, errno.ENODEV, errno.ENOTDIR):
            return b""
        raise


def listening() -> dict[str, dict[str, Any]]:
    """Return who listens on this box's TCP ports: {"8000": {"pid", "command", "address"}}; pid None where hidden.

    A child holds its parent's sockets from its fork until it is another program, and psutil may name it; when it is
    gone before it was looked at, all is looked at again.
    """
    for _ in range(LOOKS):
        found, gone = _listening()
        if not gone:
            break
    return found


def _listening() -> tuple[dict[str, dict[str, Any]], bool]:
    """Return who listens, and whether some holder of a socket was gone already."""
    import psutil  # 15 ms that only this call has to pay

    found: dict[str, dict[str, Any]] = {}
    gone = False
    for socket in psutil.net_connections("tcp"):
        if socket.status == psutil.CONN_LISTEN and socket.laddr:
            pid = _eldest(socket.pid, socket.fd) if socket.pid else None
            gone = gone or bool(socket.pid and pid is None)
            known = found.get(str(socket.laddr.port))
            if known is None or (pid or 1 << 30) < (known["pid"] or 1 << 30):
                command = " ".join(argv(pid)) if pid else ""
                found[str(socket.laddr.port)] = {"pid": pid, "command": command, "address": socket.laddr.ip}
    return found, gone


def _eldest(pid: int, descriptor: int, proc: Path = PROC) -> int | None:
    """Given a process and its descriptor of a socket, return its eldest forebear that holds the same socket.

    nginx's master and workers share theirs: psutil names whichever it looked at last, a person looks for the master.
    None where the process does not hold it any more.
    """
    socket = _descriptors(pid, proc).get(str(descriptor))
    if socket is None:
        return None
    while fields := _stat(pid, proc):
        parent = int(fields[1])
        if parent <= 1 or socket not in _descriptors(parent, proc).values():  # systemd holds some for others
            break
        pid = parent
    return pid


def _descriptors(pid: int, proc: Path) -> dict[str, str]:
    """What each descriptor of a process means, such as socket:[123]; empty for one that is gone or not ours to see."""
    found = {}
    with suppress(OSError):
        for link in (proc / str(pid) / "fd").iterdir():
            with suppress(OSError):  # closed meanwhile
                found[link.name] = str(link.readlink())
    return found


def connections(address: str, port: int, own: Iterable[str]) -> int:
    """Count established connections to an engine: into `port` when `address` is one of this box's, else out to it."""
    import psutil

    here = address in set(own) or address in ("127.0.0.1", "::1")
    count = 0
    for socket in psutil.net_connections("tcp"):
        if socket.status == psutil.CONN_ESTABLISHED and socket.laddr and socket.raddr:
            end = socket.laddr if here else socket.raddr
            count += end.port == port and (here or _plain(end.ip) == address)
    return count


def _plain(address: str) -> str:
    """An IPv4 peer of a dual-stack socket shows as ::ffff:192.0.2.1."""
    return address.removeprefix("::ffff:")
