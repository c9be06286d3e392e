"""systemd's view of all unit files."""

from __future__ import annotations

from typing import Any

from floor.agent.call import Call
from floor.box import systemctl


def reload(call: Call) -> dict[str, Any]:
    """{epoch} → {}: daemon-reload. Only when a unit file's bytes changed: it can take GPUs from running containers."""
    with call.work():
        systemctl.do(["daemon-reload"], call.run)
    return {}
