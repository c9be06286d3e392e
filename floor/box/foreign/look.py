"""All that somebody else runs here and floor has to know of, in one answer. Looks, and changes nothing."""

from __future__ import annotations

import json
import os
import platform
import re
import socket
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from floor.box import command, memory, paths
from floor.box.foreign import boxed, procs, starters, weights
from floor.errors import FloorError

_INSIDE = re.compile(r"^(lo|docker|br-|veth|virbr|cni|flannel|podman|lxc|lxdbr)")
PATIENCE = 10.0  # seconds; docker and a driver can hang on a machine in trouble


def patiently(argv: Sequence[str]) -> command.Result:
    """Given an argv, return what the program ended with; one that gives no answer counts as not there."""
    try:
        return command.run(argv, timeout=PATIENCE)
    except FloorError as error:
        return command.Result(None, "", str(error))


def look(ports: Iterable[int] = (), root: Path = paths.ROOT, run: command.Run = patiently) -> dict[str, Any]:
    """Given the ports that floor wants here, return {root, hostname, machine, addresses, memory, processes, containers,
    units, cron}: see `procs.every`, `boxed.told` and `starters.look`. Without root much of it cannot be seen."""
    listed = boxed.listed(run)
    every = procs.every(paths.under(root, "/proc"), boxed.names(listed))
    containers = [boxed.told(one, run) for one in listed]
    held = {one["owner"]["name"] for one in every if one["owner"]["kind"] == "container"}
    containers = [one for one in containers if one["engine"] or one["name"] in held]
    named = [
        one["owner"]["name"]
        for one in every
        if one["engine"] and one["owner"]["kind"] in ("unit", "user-unit", "container")
    ]
    named += [one["name"] for one in containers if one["engine"]]
    box_memory = memory.read(root)
    return {
        "root": os.geteuid() == 0,
        "hostname": socket.gethostname(),
        "machine": platform.machine(),
        "addresses": addresses(run),
        "memory": {"total": box_memory.total, "available": box_memory.available},
        "processes": [{**one, "snapshots": weights.snapshots(one, root)} for one in every],
        "containers": [{**one, "snapshots": weights.snapshots(one, root)} for one in containers],
        **starters.look(named, ports, root, run),
    }


def addresses(run: command.Run) -> list[str]:
    """Return this machine's addresses that others may use, the default route's first, IPv4 before IPv6."""
    told = run(["ip", "-json", "address", "show", "up"])
    route = run(["ip", "-json", "route", "show", "default"])
    try:
        links = json.loads(told.out or "[]") if told.ok else []
        default = next((one.get("dev") for one in json.loads(route.out or "[]")), None) if route.ok else None
    except ValueError:
        return []
    found = [
        (link["ifname"] != default, one["family"] != "inet", link["ifname"], one["local"])
        for link in links
        if not _INSIDE.match(link.get("ifname", "lo"))
        for one in link.get("addr_info", ())
        if one.get("scope") == "global"
    ]
    return list(dict.fromkeys(address for *_, address in sorted(found)))


def main() -> int:
    """Print what `look` found, as one marked line: for machines that are reached without an agent."""
    sys.stdout.write("@floor " + json.dumps({"ok": look()}) + "\n")
    return 0
