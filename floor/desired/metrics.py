"""What floor-metrics is told, and its unit. The shape of the settings is floor/metrics/settings.py's."""

from __future__ import annotations

import json
from typing import Any

from floor.box import paths
from floor.config.metrics import Metrics
from floor.desired.state import File, Kind, Launch, Unit
from floor.render import template

UNIT = "floor-metrics.service"


def service(
    metrics: Metrics, port: int, box: str, listen: str, pool: str | None, release: str
) -> tuple[Unit, list[File]]:
    """Given the section of floor.yaml and its port, a box and where its services listen, the text of its pool.json
    (None where it is no proxy box) and floor's release, return the unit and its files.

    The copies are those that the pools know, under the same names and at the same places.
    """
    known: dict[str, Any] = json.loads(pool) if pool is not None else {}
    found = {
        "box": box,
        "listen": listen,
        "port": port,
        "interval": metrics.interval,
        "key_file": known.get("key_file"),
        "proxy": pool is not None,
        "backends": [_backend(one["model"], each) for one in known.get("pools", ()) for each in one["backends"]],
    }
    settings = File(str(paths.METRICS_SETTINGS), json.dumps(found, indent=1, sort_keys=True) + "\n")
    launch = Launch((str(paths.PYTHON), "-I", "-m", "floor.metrics"), extra=(settings.text, release))
    text = template("systemd/floor-metrics.service.j2", launch=launch)
    unit = Unit(UNIT, Kind.METRICS, launch, reload_on=(settings.path,))
    return unit, [settings, File(str(paths.UNITS / UNIT), text)]


def _backend(model: str, backend: dict[str, Any]) -> dict[str, Any]:
    told = {key: backend[key] for key in ("name", "url", "box", "dialect", "key")}
    return {**told, "model": model, "servers": [backend[key] for key in ("server", "next") if backend.get(key)]}
