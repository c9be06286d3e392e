"""All that somebody else runs here and floor has to know of, in one answer. Looks, and changes nothing."""

from __future__ import annotations

import json
import os
import platform
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from floor.box import command, links, memory, paths
from floor.box.foreign import boxed, procs, proxies, starters, weights
from floor.errors import FloorError


def patient(run: command.Run = command.run) -> command.Run:
    """Given how to run a program, return the same for which one that gives no answer counts as not there."""

    def ask(argv: Sequence[str]) -> command.Result:
        try:
            return run(argv)
        except FloorError as error:
            return command.Result(None, "", str(error))

    return ask


def look(ports: Sequence[int] = (), root: Path = paths.ROOT, run: command.Run = command.run) -> dict[str, Any]:
    """Given the ports that floor wants here, return {root, hostname, machine, addresses, links, memory, processes,
    containers, units, cron, proxies}: see `links.read`,
    `procs.every`, `boxed.told`, `starters.look` and `proxies.look`. Without root much of it
    cannot be seen."""
    run = patient(run)  # docker and a driver can hang on a machine in trouble
    listed = boxed.listed(run)
    every = procs.every(paths.under(root, "/proc"), boxed.names(listed), on_gpu(run))
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
        "links": links.read(run, root),
        "memory": {"total": box_memory.total, "available": box_memory.available},
        "processes": [{**one, "snapshots": weights.snapshots(one, root)} for one in every],
        "containers": [{**one, "snapshots": weights.snapshots(one, root)} for one in containers],
        **starters.look(named, ports, root, run),
        "proxies": proxies.look(ports, root),
    }


def on_gpu(run: command.Run) -> list[int]:
    """Return the processes that compute on an NVIDIA GPU, as its driver tells; none where there is no driver."""
    told = run(["nvidia-smi", "--query-compute-apps=pid", "--format=csv,noheader"])
    return [int(line) for line in told.out.split() if line.isdigit()] if told.ok else []


def addresses(run: command.Run) -> list[str]:
    """Return this machine's addresses that others may use, the default route's first, IPv4 before IPv6."""
    told = run(["ip", "-json", "address", "show", "up"])
    route = run(["ip", "-json", "route", "show", "default"])
    try:
        known = json.loads(told.out or "[]") if told.ok else []
        default = next((one.get("dev") for one in json.loads(route.out or "[]")), None) if route.ok else None
    except ValueError:
        return []
    found = [
        (link["ifname"] != default, one["family"] != "inet", link["ifname"], one["local"])
        for link in known
        if not links.INSIDE.match(link.get("ifname", "lo"))
        for one in link.get("addr_info", ())
        if one.get("scope") == "global"
    ]
    return list(dict.fromkeys(address for *_, address in sorted(found)))


def main() -> int:
    """Print what `look` found, as one marked line: for machines that are reached without an agent."""
    sys.stdout.write("@floor " + json.dumps({"ok": look()}) + "\n")
    return 0
