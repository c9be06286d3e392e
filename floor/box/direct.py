"""Who asked the engines of this box past the proxy, as the kernel counts: looked at by the watchdog, told by all."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import Any

from floor.box import connections, files, firewall, paths, processes
from floor.box.command import Run, run
from floor.box.locked import mine


def look(run: Run = run) -> list[dict[str, Any]]:
    """Return [{"address", "connections"}], the most first: connections begun, of each address for a day after its last.

    Nothing where floor's table is not loaded, or cannot be read.
    """
    listed = run(["nft", "--json", "list", "table", *firewall.TABLE])
    return firewall.direct(firewall.listing(listed.out)) if listed.ok else []


def here(ports: Collection[int], proc: Path = processes.PROC) -> list[dict[str, Any]]:
    """Given the ports of this box's engines, return the programs of the box itself that are connected to one and are
    not floor's, in the same shape: `address` is the unit, or the program's name. No firewall stands between them."""
    up = [one for one in connections.established(proc) if one.peer[1] in ports and one.peer[0] == one.own[0]]
    who = connections.programs({one.inode for one in up}, proc)
    found = Counter(_name(one) for one in who.values() if not one.floors)
    return [{"address": f"this box: {name}", "connections": count} for name, count in sorted(found.items())]


def _name(program: connections.Program) -> str:
    if program.unit.endswith(".service"):
        return program.unit
    return program.command or "a program without a name"


def keep(found: list[dict[str, Any]], root: Path = paths.ROOT) -> None:
    """Write down what was found, for services that may not ask the kernel. Raise FloorError if it cannot be."""
    files.write(paths.DIRECT, json.dumps(found) + "\n", owner=mine(), root=root)


def last(root: Path = paths.ROOT) -> list[dict[str, Any]]:
    """Return what was written down last; nothing where nothing was, or where it is none."""
    try:
        found = json.loads(paths.under(root, paths.DIRECT).read_text())
        return [{"address": str(one["address"]), "connections": int(one["connections"])} for one in found]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return []
