"""Faults of processes and ports in a box. Power cuts and partitions are the box's own: `power_cut`, `partition`."""

from __future__ import annotations

from collections.abc import Iterable

from tests.lab.box import Box

SILENCE = """\
table inet lab_silence
flush table inet lab_silence
table inet lab_silence {{
  chain input {{ type filter hook input priority -300; policy accept; tcp dport {port} drop; }}
}}
"""


def freeze(box: Box, pid: int) -> list[int]:
    """SIGSTOP a process of the box and all below it: it hangs, its sockets stay open. Return the ids, for `thaw`."""
    return send("STOP", box, pid)


def thaw(box: Box, pid: int) -> list[int]:
    """SIGCONT a process of the box and all below it; return their ids."""
    return send("CONT", box, pid)


def kill(box: Box, pid: int) -> list[int]:
    """SIGKILL a process of the box and all below it, as the kernel does when memory runs out; return their ids."""
    return send("KILL", box, pid)


def send(signal: str, box: Box, pid: int) -> list[int]:
    """Send a signal to a process of the box and all below it; return their ids, as numbered in the box."""
    rows = box.run(["ps", "-e", "-o", "pid=,ppid="]).stdout.split()
    tree = below(pid, [(int(child), int(parent)) for child, parent in zip(rows[::2], rows[1::2], strict=True)])
    box.run(["kill", f"-{signal}", *map(str, tree)], check=signal != "KILL")  # systemd may have ended some already
    return tree


def below(pid: int, processes: Iterable[tuple[int, int]]) -> list[int]:
    """Given (process, its parent) pairs, return `pid` and all that descend from it, parents first."""
    pairs = list(processes)
    tree = [pid]
    for ancestor in tree:
        tree.extend(child for child, parent in pairs if parent == ancestor)
    return tree


def silence(box: Box, port: int) -> None:
    """Drop all that comes for a TCP port of the box: connects time out, and established connections go quiet."""
    box.run(["nft", "-f", "-"], input=SILENCE.format(port=port))


def end_silence(box: Box) -> None:
    """End what `silence` began."""
    box.run(["nft", "delete", "table", "inet", "lab_silence"])
