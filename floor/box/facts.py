"""What this box is: names, versions, addresses, memory, GPUs. Read only."""

from __future__ import annotations

import grp
import ipaddress
import os
import platform
import pwd
import re
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from floor.box import containers, memory, paths
from floor.box.command import Run, run
from floor.errors import FloorError

PROGRAMS = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"
NGINX_USERS = ("www-data", "nginx", "http")  # Debian and Ubuntu, nginx.org's own packages and Fedora, Arch


def read(run: Run = run, root: Path = paths.ROOT) -> dict[str, Any]:
    """Return all facts as JSON values; what is not there is None, what does not answer is None with a reason."""
    box_memory = memory.read(root)
    docker, docker_error = _docker(run)
    return {
        "hostname": socket.gethostname(),
        "boot_id": paths.under(root, "/proc/sys/kernel/random/boot_id").read_text().strip(),
        "machine": platform.machine(),
        "libc": platform.libc_ver()[1] or None,
        "python": platform.python_version(),
        "systemd": _version(run, ["systemctl", "--version"], r"systemd (\d+)"),
        "nginx": _version(run, ["nginx", "-v"], r"nginx/([\d.]+)"),
        "docker": docker,
        "docker_error": docker_error,
        "ipv6": ipv6(root),
        "nginx_user": nginx_user(),
        "memory": {"total": box_memory.total, "available": box_memory.available},
        "gpus": gpus(run),
        "addresses": addresses(),
        "networks": networks(),
        "keepalived": shutil.which("keepalived", path=PROGRAMS) is not None,
        "cpus": os.cpu_count(),
    }


def _version(run: Run, argv: list[str], pattern: str) -> str | None:
    found = re.search(pattern, run(argv).said)
    return found[1] if found else None


def _docker(run: Run) -> tuple[str | None, str | None]:
    try:
        return containers.version(run), None
    except FloorError as error:
        return None, str(error)


def ipv6(root: Path = paths.ROOT) -> bool:
    """Whether a socket can listen on `[::]` here: the kernel has IPv6 and at least one address of it."""
    try:
        return bool(paths.under(root, "/proc/net/if_inet6").read_text().strip())
    except OSError:
        return False


def nginx_user(has: Callable[[str], bool] | None = None) -> str:
    """Return the user that nginx's workers run as: the packages' own, and only with a group of the same name.

    `user nobody;` fails on Debian, which has no such group.
    """
    exists = has or _has_user_and_group
    return next((name for name in NGINX_USERS if exists(name)), "www-data")


def _has_user_and_group(name: str) -> bool:
    try:
        pwd.getpwnam(name)
        grp.getgrnam(name)
    except KeyError:
        return False
    return True


def addresses() -> list[str]:
    """Return this box's addresses, loopback and link-local ones left out."""
    import psutil

    found = {
        address.address.partition("%")[0]
        for interface in psutil.net_if_addrs().values()
        for address in interface
        if address.family in (socket.AF_INET, socket.AF_INET6)
    }
    return sorted(one for one in found if not one.startswith(("127.", "fe80:")) and one != "::1")


def networks() -> list[dict[str, Any]]:
    """Return each address of this box with its interface and the length of its network's prefix, as `addresses`."""
    import psutil

    found = [
        {"interface": name, "address": one.address.partition("%")[0], "prefix": _prefix(one.netmask)}
        for name, some in psutil.net_if_addrs().items()
        for one in some
        if one.family in (socket.AF_INET, socket.AF_INET6) and one.netmask
    ]
    ours = set(addresses())
    return sorted((one for one in found if one["address"] in ours), key=lambda one: str(one["address"]))


def _prefix(mask: str) -> int:
    return int(ipaddress.ip_address(mask)).bit_count()


GPU_FIELDS = ("name", "memory.total", "memory.used", "driver_version")


def gpus(run: Run = run) -> list[dict[str, Any]]:
    """Return this box's NVIDIA GPUs: [{name, total, used, driver}], bytes; None where the driver says `[N/A]`.

    On unified memory (GB10) the driver tells no memory: MemAvailable is the figure then.
    """
    result = run(["nvidia-smi", f"--query-gpu={','.join(GPU_FIELDS)}", "--format=csv,noheader,nounits"])
    if not result.ok:
        return []
    found = []
    for line in result.out.splitlines():
        words = [word.strip() for word in line.split(",")]
        if len(words) == len(GPU_FIELDS):
            name, total, used, driver = words
            found.append({"name": name, "total": _mib(total), "used": _mib(used), "driver": driver})
    return found


def _mib(text: str) -> int | None:
    return int(float(text) * 1024 * 1024) if re.fullmatch(r"\d+(\.\d+)?", text) else None
