"""What a soak looks at between faults and at its end: whether all is whole, and what must not grow or stay behind."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from typing import Any

from tests.lab.box import Box
from tests.lab.boxes import Lab
from tests.lab.commands import CommandFailed
from tests.lab.deployment import UNIT, in_both
from tests.lab.machine import LabError
from tests.lab.shared import UNIT as ADDRESS
from tests.lab.shared import one

SERVICES = ("floor-proxy.service", "floor-pool.service", "floor-agent.service", "floor-guard.service", ADDRESS, UNIT)
# What else runs on a box comes and goes: those that belong to floor are counted, by what they run.
PROGRAMS = {
    "engine": r"-m floor\.sim",
    "pool": r"-m floor\.pool",
    "guard": r"-m floor\.guard",
    "status port": r"-m floor\.agent\.status",
    "agent": r"-m floor\.agent(\.\w+)?( (?!\.)|$)(?!.*status)",
    "nginx": r"nginx: master",
    "keepalived": r"/keepalived ",
}


def whole(lab: Lab) -> bool:
    """Whether every service runs, every copy is in every pool, and one box holds the shared address."""
    try:
        up = all(
            box.run(["systemctl", "is-active", *SERVICES], check=False).stdout.split() == ["active"] * len(SERVICES)
            for box in lab.boxes.values()
        )
        return up and in_both(lab) and bool(one(lab))
    except (LabError, CommandFailed, subprocess.TimeoutExpired, json.JSONDecodeError):
        return False


def programs(box: Box) -> Counter[str]:
    """How many processes of each program of floor's run on a box."""
    lines = box.run(["ps", "-e", "-o", "args="]).stdout.splitlines()
    return Counter(name for line in lines for name, found in PROGRAMS.items() if re.search(found, line))


def traces(box: Box) -> dict[str, Any]:
    """What must be at the end as it was at the beginning: units, failed ones, tables of the kernel, addresses on lo."""
    units = box.run(["systemctl", "list-units", "--all", "--plain", "--no-legend", "floor*"]).stdout.split("\n")
    return {
        "units": sorted(line.split()[0] for line in units if line.split()),
        "failed": box.run(["systemctl", "--failed", "--plain", "--no-legend"]).stdout,
        "tables": sorted(box.run(["nft", "list", "tables"]).stdout.splitlines()),
        "loopback": box.run(["ip", "-o", "-4", "address", "show", "dev", "lo"]).stdout.count("inet"),
        "zombies": [line for line in box.run(["ps", "-e", "-o", "stat=,args="]).stdout.splitlines() if line[0] == "Z"],
    }


def held(box: Box) -> dict[str, int]:
    """Descriptors and kilobytes of memory that each service of floor's holds."""
    found = {}
    for unit in ("floor-pool.service", "floor-agent.service"):
        pid = box.pid(unit)
        count = len(box.run(["ls", f"/proc/{pid}/fd"]).stdout.split())
        size = int(re.search(r"VmRSS:\s+(\d+)", box.read(f"/proc/{pid}/status"))[1])  # type: ignore[index]
        found |= {f"{unit} descriptors": count, f"{unit} kilobytes": size}
    return found


def events(box: Box) -> int:
    """How many events a box has written down."""
    return int(box.run(["wc", "-l", "/var/lib/floor/events.jsonl"]).stdout.split()[0])


def operation(box: Box) -> dict[str, Any]:
    """The record of the last operation of a box."""
    return dict(json.loads(box.read("/var/lib/floor/operation.json")))


def drains(box: Box) -> dict[str, Any]:
    """Who is held out of the pools of a box, by whom."""
    text = box.run(["cat", "/var/lib/floor/drains.json"], check=False).stdout
    return {name: holders for name, holders in json.loads(text or "{}").items() if holders}


def story(box: Box, since: float) -> str:
    """What a box wrote down and its services said since a moment (unix seconds), for whoever has to find out."""
    units = [
        word for unit in ("floor-pool", "floor-agent", "floor-address", "floor-copy-flagship") for word in ("-u", unit)
    ]
    said = box.run(["journalctl", *units, f"--since=@{since:.0f}", "-o", "short-precise", "--no-pager"]).stdout
    return f"--- {box.name}\n" + "\n".join(said.splitlines()[:120])
