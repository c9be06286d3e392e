"""What somebody else runs on a simulated box: engines in containers and units, and what starts them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass
class Other:
    """One thing of somebody else's. `port` is that of an engine or a server, None for what only starts some."""

    kind: str
    name: str
    port: int | None = 8000
    served: str = "flagship"
    policy: str = "unless-stopped"
    running: bool = True
    enabled: bool = True
    engine: str | None = "vllm"
    hidden: tuple[str, ...] = ()
    listens: str = "0.0.0.0"

    @property
    def argv(self) -> list[str]:
        return ["vllm", "serve", f"/models/{self.served}", "--served-model-name", self.served, "--port", str(self.port)]


def look(others: list[Other], copies: Sequence[str] = ()) -> dict[str, Any]:
    """What `foreign.look` would answer; it sees floor's own copies too, in their containers."""
    others = [*others, *(Other("container", name, policy="no") for name in copies)]
    running = [(number, one) for number, one in enumerate(others) if one.running and one.port]
    return {
        "root": True, "hostname": "x", "machine": "x", "addresses": [], "memory": {},
        "processes": [_process(100 + number, one) for number, one in running],
        "containers": [_container(one) for one in others if one.kind == "container"],
        "units": [_unit(one) for one in others if one.kind == "unit" and (one.running or one.enabled)],
        "cron": [_line(one) for one in others if one.kind == "cron" and one.enabled],
    }  # fmt: skip


def _process(pid: int, one: Other) -> dict[str, Any]:
    kind = {"unit": "unit", "container": "container", "user-unit": "user-unit"}.get(one.kind, "session")
    return {
        "pid": pid, "parent": 1, "argv": one.argv if one.engine else ["nginx: master process"], "engine": one.engine,
        "at": 2, "hidden": list(one.hidden), "user": "alice", "folder": "/", "env": {}, "env_hidden": [],
        "owner": {"kind": kind, "name": one.name}, "ports": [[one.port, one.listens]], "gpu": False, "ticks": pid,
        "memory": 1, "snapshots": {},
    }  # fmt: skip


def _container(one: Other) -> dict[str, Any]:
    return {
        "name": one.name, "image": "vllm:v1", "digest": None, "argv": one.argv, "engine": one.engine, "at": 2,
        "hidden": list(one.hidden), "env": {}, "env_hidden": [], "mounts": [], "network": "host", "ports": {},
        "gpus": "all", "options": [], "policy": one.policy, "auto_remove": False, "running": one.running, "pid": 1,
        "user": "", "snapshots": {},
    }  # fmt: skip


def _unit(one: Other) -> dict[str, Any]:
    mention = {"word": "vllm", "where": "/srv/watch.sh:3", "line": "systemctl restart vllm", "acts": True}
    return {
        "name": one.name, "fragment": "", "enabled": "enabled" if one.enabled else "disabled",
        "active": "active" if one.running else "inactive", "conflicts": [], "argv": [], "triggers": [], "restart": "",
        "mentions": [mention],
    }  # fmt: skip


def _line(one: Other) -> dict[str, Any]:
    mention = {"word": str(one.port or 8000), "where": f"{one.name}:3", "line": "docker restart vllm", "acts": True}
    line = "* * * * * root docker restart vllm"
    return {"digest": "d", "path": one.name, "number": 3, "user": "root", "line": line, "mentions": [mention]}
