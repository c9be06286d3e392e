"""What floor-metrics is told, and its unit. The shape of the settings is floor/metrics/settings.py's."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from floor.box import paths
from floor.config.metrics import Metrics
from floor.desired.state import File, Kind, Launch, Unit
from floor.render import template

UNIT = "floor-metrics.service"


@dataclass(frozen=True)
class Proxy:
    """What the service of a proxy box knows besides: the text of its pool.json, the status ports of all boxes by name,
    and the user that nginx runs as."""

    pool: str
    boxes: Mapping[str, str]
    user: str


def service(metrics: Metrics, box: str, listen: str, proxy: Proxy | None, release: str) -> tuple[Unit, list[File]]:
    """Given the section of floor.yaml, a box and where its services listen, what a proxy box knows (None: it is none)
    and floor's release, return the unit and its files.

    The copies are those that the pools know, under the same names and at the same places.
    """
    known: dict[str, Any] = json.loads(proxy.pool) if proxy else {}
    page = proxy if metrics.page else None
    found = {
        "box": box,
        "listen": listen,
        "port": metrics.listen,
        "interval": metrics.interval,
        "key_file": known.get("key_file"),
        "proxy": proxy is not None,
        **(_page(page) if page else {}),
        "backends": [_backend(one["model"], each) for one in known.get("pools", ()) for each in one["backends"]],
    }
    settings = File(str(paths.METRICS_SETTINGS), json.dumps(found, indent=1, sort_keys=True) + "\n")
    launch = Launch((str(paths.PYTHON), "-I", "-m", "floor.metrics"), extra=(settings.text, release))
    text = template("systemd/floor-metrics.service.j2", launch=launch, group=page.user if page else "")
    unit = Unit(UNIT, Kind.METRICS, launch, reload_on=(settings.path,))
    return unit, [settings, File(str(paths.UNITS / UNIT), text)]


def _page(proxy: Proxy) -> dict[str, Any]:
    boxes = [{"name": name, "status_url": url} for name, url in proxy.boxes.items()]
    return {"page": True, "boxes": boxes, "status_key_file": str(paths.STATUS_KEY)}


def _backend(model: str, backend: dict[str, Any]) -> dict[str, Any]:
    told = {key: backend[key] for key in ("name", "url", "box", "dialect", "key")}
    return {**told, "model": model, "servers": [backend[key] for key in ("server", "next") if backend.get(key)]}
