"""What a copy that is about to stop must know: whom to wait for. The shape is floor/agent/leave.py's."""

from __future__ import annotations

import json
from collections.abc import Mapping

from floor.box import paths
from floor.config.hosts import netloc
from floor.config.model import Config
from floor.desired.state import BoxFacts, File


def file(config: Config, boxes: Mapping[str, BoxFacts]) -> File:
    """Given the config and what is known of the boxes, return the settings of every copy that leaves its pools.

    They are read at each stop: a proxy box that is added restarts nothing.
    """
    found = {
        "status_key_file": str(paths.STATUS_KEY),
        "proxies": [{"box": name, "status_url": status_url(config, name, boxes)} for name in config.proxy.boxes],
    }
    return File(str(paths.LEAVE_SETTINGS), json.dumps(found, indent=1, sort_keys=True) + "\n")


def status_url(config: Config, name: str, boxes: Mapping[str, BoxFacts]) -> str:
    """Given a managed box, return where its status port is asked."""
    box = config.boxes[name]
    address = boxes.get(name, BoxFacts(None)).address or box.host
    return f"http://{netloc(address, box.status_port)}/status"
