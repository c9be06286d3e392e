"""Faults of processes and ports in a box. Power cuts and partitions are the box's own: `power_cut`, `partition`."""

from __future__ import annotations

from collections.abc import Iterable

from tests.lab.box import Box
from tests.lab.commands import CommandFailed
from tests.lab.machine import LabError

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
    """Send a signal to a process of the box and all below it; return their ids, as numbered in the box.

    Of those to be killed some may be gone by then: systemd ends the others of a unit when its first is. Raise LabError
    where there is no such process to begin with, CommandFailed for whatever else goes wrong.
    """
    rows = box.run(["ps", "-e", "-o", "pid=,ppid="]).stdout.split()
    pairs = [(int(child), int(parent)) for child, parent in zip(rows[::2], rows[1::2], strict=True)]
    if pid not in dict(pairs):
        raise LabError(f"{box.name}: there is no process {pid} to send {signal} to")
    tree = below(pid, pairs)
    argv = ["kill", f"-{signal}", *map(str, tree)]
    done = box.run(argv, check=False)
    if done.returncode and not (signal == "KILL" and only_gone(done.stderr)):
        raise CommandFailed(argv, done.returncode, done.stdout, done.stderr)
    return tree


def only_gone(said: str) -> bool:
    """Given what kill(1) printed, say whether all that it could not reach was gone already."""
    lines = said.splitlines()
    return bool(lines) and all(line.startswith("kill: ") and line.endswith("No such process") for line in lines)


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
