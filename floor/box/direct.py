"""Who asked the engines of this box past the proxy, as the kernel counts: looked at by the watchdog, told by all."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from floor.box import connections, files, firewall, paths, processes
from floor.box.command import Run, run
from floor.box.locked import mine

HERE, TO = "this box: ", " -> "  # how a program of the box is told, and the engine of another box that it asks
Place = tuple[str, int]
"""Address and port."""


def look(run: Run = run) -> list[dict[str, Any]]:
    """Return [{"address", "connections"}], the most first: connections begun, of each address for a day after its last.

    Nothing where floor's table is not loaded, or cannot be read.
    """
    listed = run(["nft", "--json", "list", "table", *firewall.TABLE])
    return firewall.direct(firewall.listing(listed.out)) if listed.ok else []


def here(ports: Collection[int], others: Collection[Place] = (), proc: Path = processes.PROC) -> list[dict[str, Any]]:
    """Given the ports of this box's engines and where other boxes' engines are, return the programs of the box itself
    that are connected to one and are not floor's, in the same shape: `address` is the unit, or the program's name, and
    the engine where that is another box's. No firewall stands between them: what it lets the proxy do it lets them do.
    """
    up = connections.established(proc)
    near = [one for one in up if one.peer[1] in ports and one.peer[0] == one.own[0]]
    far = [one for one in (*up, *connections.elsewhere(proc)) if one.peer in others] if others else []
    who = connections.programs({one.inode for one in (*near, *far)}, proc)
    found = Counter(f"{HERE}{_name(who[one.inode])}" for one in near if _strange(who, one))
    found += Counter(
        f"{HERE}{_name(who[one.inode])}{TO}{_netloc(one.peer)}" for one in far if one not in near and _strange(who, one)
    )
    return [{"address": name, "connections": count} for name, count in sorted(found.items())]


def engines(own: Collection[str], root: Path = paths.ROOT) -> set[Place]:
    """Given the backends of this box, return where the pool of this box knows engines of others that floor manages;
    nothing where it has no pool."""
    try:
        pools = json.loads(paths.under(root, paths.POOL_SETTINGS).read_text())["pools"]
        return {
            (str(one["address"]), int(one["port"]))
            for pool in pools
            for one in pool["backends"]
            if one["unit"] and one["address"] and one["name"] not in own
        }
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return set()


def words(address: str) -> str:
    """Whose engine somebody asks, by the `address` that is told of him."""
    return "an engine" if TO in address else "an engine of this box"


def _strange(who: Mapping[int, connections.Program], one: connections.Connection) -> bool:
    return one.inode in who and not who[one.inode].floors


def _netloc(place: Place) -> str:
    return f"[{place[0]}]:{place[1]}" if ":" in place[0] else f"{place[0]}:{place[1]}"


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
