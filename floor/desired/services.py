"""Floor's own services on a box: status port, pool and proxy, and the target that wants the engines."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from floor.box import paths
from floor.desired.nginx import DESCRIPTORS
from floor.desired.state import File, Kind, Launch, Unit
from floor.render import template

NGINX = "/usr/sbin/nginx"
SYSTEMCTL = "/usr/bin/systemctl"
FIND = "/usr/bin/find"
TARGET = "floor.target"
STOP_SLACK = 5  # seconds beyond the longest request, in which what is left of a proxy ends


def status(
    listen: str, port: int, units: Sequence[str], release: str, more: Mapping[str, Any]
) -> tuple[Unit, list[File]]:
    """Given where the status port listens, the units that it tells of, floor's release and what it is told of groups,
    return unit and files."""
    found = {"listen": listen, "port": port, "key_file": str(paths.STATUS_KEY), "units": list(units), **more}
    settings = File(str(paths.AGENT_SETTINGS), json.dumps(found, indent=1, sort_keys=True) + "\n")
    return service("floor-agent", Kind.STATUS, "floor.agent.status", settings, release)


def pool(settings: str, release: str) -> tuple[Unit, list[File]]:
    """Given the text of pool.json and floor's release, return the pool's unit and files."""
    file = File(str(paths.POOL_SETTINGS), settings)
    return service("floor-pool", Kind.POOL, "floor.pool", file, release, records=str(paths.LIB))


def proxy(reload_on: Sequence[str], shutdown: float, shares: str = "") -> tuple[Unit, list[File]]:
    """Given the paths of its files, the seconds that its requests may take to end and the unit that holds the shared
    address, return the proxy's unit and its unit file; a change of one of the files is a reload."""
    conf = [NGINX, "-e", "stderr", "-c", str(paths.NGINX_CONF)]
    launch = Launch(tuple(conf))
    text = template(
        "systemd/floor-proxy.service.j2",
        launch=launch,
        pid=paths.NGINX_PID,
        members=[str(paths.PYTHON), "-I", "-m", "floor.pool", "--empty"],
        sockets=[FIND, str(paths.NGINX_PID.parent), "-name", "*.sock", "-delete"],
        test=[*conf, "-t", "-q"],
        reload=[*conf, "-s", "reload"],
        runtime=paths.NGINX_PID.parent,
        descriptors=DESCRIPTORS,
        stop=math.ceil(shutdown) + STOP_SLACK,
        shares=_around(shares) if shares else None,
    )
    unit = Unit("floor-proxy.service", Kind.PROXY, launch, reload_on=tuple(reload_on))
    return unit, [File(str(paths.UNITS / unit.name), text)]


def _around(unit: str) -> dict[str, list[str]]:
    """What is done with the unit of the shared address before nginx stops, and after it has started."""
    before = [str(paths.PYTHON), "-I", "-m", "floor.agent.address", "proxy"]
    return {"before": before, "after": [SYSTEMCTL, "start", "--no-block", unit]}


def target() -> tuple[Unit, list[File]]:
    """The target that wants the engines of the box, and what keeps needrestart from restarting all of them at once."""
    text = template("systemd/floor.target.j2")
    files = [
        File(str(paths.UNITS / TARGET), text),
        File(str(paths.NEEDRESTART), template("systemd/needrestart.conf.j2")),
    ]
    return Unit(TARGET, Kind.TARGET, Launch(())), files


def service(name: str, kind: Kind, module: str, settings: File, release: str, **values: str) -> tuple[Unit, list[File]]:
    """Given a service's name, kind and module, its settings and floor's release, return its unit and files."""
    launch = Launch((str(paths.PYTHON), "-I", "-m", module), extra=(settings.text, release))
    text = template(f"systemd/{name}.service.j2", launch=launch, **values)
    unit = Unit(f"{name}.service", kind, launch, reload_on=(settings.path,))
    return unit, [settings, File(str(paths.UNITS / unit.name), text)]
