"""This machine's network links as `ip` and the kernel tell of them, with their RDMA devices. Reads only.

For machines without floor on them, too: only what Python itself brings.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from floor.box import paths
from floor.box.command import Run

# of the machine alone: bridges and ends of containers and virtual machines
INSIDE = re.compile(r"^(lo|docker|br-|veth|virbr|cni|flannel|podman|lxc|lxdbr|tailscale|wg|tun|tap)")


def read(run: Run, root: Path = paths.ROOT) -> list[dict[str, Any]]:
    """Return [{"interface", "addresses": ["198.51.100.1/24"], "speed": Mbit/s or None, "default": whether the default
    route goes there, "devices": [RDMA devices that are active]}] of the links that are up."""
    told = run(["ip", "-json", "address", "show", "up"])
    route = run(["ip", "-json", "route", "show", "default"])
    try:
        links = json.loads(told.out or "[]") if told.ok else []
        defaults = {one.get("dev") for one in json.loads(route.out or "[]")} if route.ok else set()
    except ValueError:
        return []
    devices = _devices(root)
    return [
        {
            "interface": name,
            "addresses": _addresses(link),
            "speed": _speed(paths.under(root, f"/sys/class/net/{name}/speed")),
            "default": name in defaults,
            "devices": sorted(device for device, interfaces in devices.items() if name in interfaces),
        }
        for link in links
        if not INSIDE.match(name := str(link.get("ifname", "lo")).partition("@")[0])
    ]


def _addresses(link: dict[str, Any]) -> list[str]:
    found = link.get("addr_info", ())
    return [f"{one['local']}/{one['prefixlen']}" for one in found if one.get("scope") == "global"]


def _devices(root: Path) -> dict[str, list[str]]:
    """The RDMA devices that are active, with the interfaces of the same card."""
    found = {}
    for folder in paths.under(root, "/sys/class/infiniband").glob("*"):
        with suppress(OSError):
            if (folder / "ports/1/state").read_text().strip().endswith("ACTIVE"):
                found[folder.name] = [place.name for place in folder.glob("device/net/*")]
    return found


def _speed(place: Path) -> int | None:
    """None where the kernel does not tell, as for virtual ones (-1, or an error)."""
    with suppress(OSError, ValueError):
        speed = int(place.read_text())
        return speed if speed > 0 else None
    return None
