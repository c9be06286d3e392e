"""A pool.json as `desired` writes it."""

from __future__ import annotations

from typing import Any

from floor.box.document import Document
from floor.pool.settings import Settings, read


def backend(name: str, address: str, **other: Any) -> dict[str, Any]:
    box = name.partition("@")[2]
    return {
        "name": name,
        "url": f"http://{address}:8000",
        "address": address,
        "port": 8000,
        "weight": 1,
        "box": box,
        "unit": "floor-copy-flagship.service",
        "status_url": f"http://{address}:8099/status",
        "dialect": "vllm",
        "key": True,
        "stall": 300,
        "min_speed": None,
    } | other


def pool_json(*backends: dict[str, Any]) -> dict[str, Any]:
    given = list(backends) or [backend("flagship@a", "192.0.2.11"), backend("flagship@b", "192.0.2.12", weight=2)]
    pool = {"model": "flagship", "upstream": "floor_flagship", "keepalive": 32, "idle": 3.0, "backends": given}
    keys = {"key_file": "/etc/floor/secrets/engine.key", "status_key_file": "/etc/floor/secrets/status.key"}
    return {"interval": 0.5, **keys, "pools": [pool]}


def settings(*backends: dict[str, Any]) -> Settings:
    return read(Document(pool_json(*backends), "pool.json"), "pool.json")
