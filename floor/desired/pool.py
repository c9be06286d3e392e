"""What floor-pool is told: every model's backends, and how to ask them. The shape is floor/pool/settings.py's."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from floor.box import paths
from floor.config.hosts import netloc
from floor.config.model import Config, ResolvedCopy
from floor.config.proxy import IDLE_TIME
from floor.desired import copies, groups
from floor.desired.front import Backend, Front
from floor.engines.serve import GENERATE

# Idle connections that a worker of nginx keeps open to the engines of a model: more than run in a copy at once.
KEEPALIVE = 32


def settings(config: Config, fronts: Sequence[Front], mode: str, ports: Mapping[str, str]) -> str:
    """Given the config, its models as proxies see them, the mode and the status port of each managed box, return the
    text of pool.json: who answers in that mode."""
    found = {
        "interval": config.health.interval,
        "key_file": str(paths.ENGINE_KEY),
        "status_key_file": str(paths.STATUS_KEY),
        "proxies": [ports[box] for box in config.proxy.boxes],
        "pools": [_pool(config, front, mode, ports) for front in fronts],
    }
    return json.dumps(found, indent=1, sort_keys=True) + "\n"


def _pool(config: Config, front: Front, mode: str, ports: Mapping[str, str]) -> dict[str, Any]:
    return {
        "model": front.model,
        "upstream": front.upstream,
        "keepalive": KEEPALIVE,
        "idle": IDLE_TIME,
        "backends": [_backend(config, backend, ports) for backend in front.backends if mode in backend.modes],
    }


def _backend(config: Config, backend: Backend, ports: Mapping[str, str]) -> dict[str, Any]:
    copy, box = backend.copy, config.boxes[backend.copy.box]
    following = {"next": backend.next} if backend.next else {}
    return {
        **following,
        "name": copy.backend,
        "url": copy.url or f"http://{backend.address}",
        "address": backend.ip,
        "port": copy.port,
        "server": backend.server,
        "weight": copy.weight,
        "box": copy.box,
        "unit": _unit(backend) if copy.managed else None,
        "status_url": f"http://{netloc(backend.ip, box.status_port)}/status" if copy.managed else None,
        "dialect": copy.engine,
        "key": copy.key,
        "stall": config.health.stall,
        "min_speed": config.health.min_speed,
        **({} if copy.task == GENERATE else {"task": copy.task}),
        **({"parts": [_part(part, ports) for part in backend.parts]} if backend.parts else {}),
    }


def _part(part: ResolvedCopy, ports: Mapping[str, str]) -> dict[str, str]:
    return {"box": part.box, "unit": groups.unit_name(part.model), "status_url": ports[part.box]}


def _unit(backend: Backend) -> str:
    model = backend.copy.model
    return groups.unit_name(model) if backend.parts else copies.unit_name(model)
