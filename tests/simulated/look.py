"""What a simulated box says when it is looked at."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from floor.box import lease, paths
from floor.box.secrets import digest
from floor.desired.state import Launch
from floor.operations.site import NEXT_WAY
from tests.simulated import engines

if TYPE_CHECKING:
    from tests.simulated.box import Process, SimulatedBox

UNITS = "/etc/systemd/system/"
SECRETS = f"{paths.SECRETS}/"


def observe(box: SimulatedBox, params: dict[str, Any]) -> dict[str, Any]:
    names = {*params.get("units", {}), *box.processes, *box.enabled, *_units_there(box)}
    record = box.record and {**lease.told(box.record, box.moment()), "boot": box.boot}
    return {
        "facts": {**box.facts, "boot_id": box.boot},
        "release": box.release,
        "mode": (box.text("/etc/floor/mode") or "").strip() or None,
        "operation": record,
        "config": box.config,
        "configs": list(box.configs),
        "files": {path: _file(box, path) for path in params.get("files", ())},
        "owned": sorted(box.files),
        "texts": {path: _text(box, path) for path in params.get("read", ())},
        "units": {name: unit(box, name) for name in names},
        "images": {ref: box.images.get(ref, "sha256:1") for ref in params.get("images", ())},
        "paths": {path: path not in box.lacking for path in params.get("paths", ())},
        "weights": {folder: box.weights.get(folder, {}) for folder in params.get("weights", ())},
        "listening": {**_listening(box), **box.held},
        "drains": {name: [asdict(one) for one in held] for name, held in box.recorded.items() if held},
        "starts": box.noted,
        "holds": {unit: {**hold, "installed": engines.installed(box, unit)} for unit, hold in box.holds.items()},
        "pool": box.pools.state(),
        **box.keyring.told(box),
        "firewall": {
            "installed": box.nftables,
            "loaded": box.rules is not None,
            "same": box.rules == box.text(paths.FIREWALL) if box.rules else None,
            "direct": box.direct,
        },
        "firewalls": box.firewalls,
        "tls": box.tls if params.get("tls") else None,
        "alarms": list(box.alarms),
        "tests": box.tests,
        "baselines": {model: list(names) for model, names in box.baselines.items()},
    }


def _text(box: SimulatedBox, path: str) -> str | None:
    """The members file is told as far as anybody reads it: whether some go the way of the next key."""
    if path == str(paths.MEMBERS):
        return "".join(f"server {NEXT_WAY}{name}.sock;\n" for name in sorted(box.pools.ways))
    return box.read if path == str(paths.ADDRESS_READ) else box.text(path)


def unit(box: SimulatedBox, name: str) -> dict[str, Any]:
    process = box.processes.get(name)
    launch = box.world.launches.get(process.digest) if process else None
    return {
        "active": box.state(name),
        "sub": "running",
        "enabled": "enabled" if name in box.enabled else "disabled",
        "argv": _argv(name, process) if process else [],
        "env": _env(name, process, launch) if process else {},
        "invocation": process.invocation if process else "",
        "dropins": [path for path in _drop_ins(box) if path.startswith(_read_by(name))],
        "needs_reload": name in box.needs_reload,
        "restarts": 0,
        "since": process.started if process else None,
        "main_started": process.started if process else None,
        "youngest_child": process.started if process else None,
        "left": box.left.get(name, []),
        "part": {"leaves": process.leaves if process and not process.waits else None},
        "container": {"id": "c", "image": process.image} if process and process.image else None,
    }


def _env(name: str, process: Process, launch: Launch | None) -> dict[str, str]:
    key = {"FLOOR_KEYS": digest(process.key)} if process.key and engines.engine(name) else {}
    return {"FLOOR_LAUNCH": process.digest, **key, **(launch.env if launch else {})}


def _argv(name: str, process: Process) -> list[str]:
    """nginx shows its arguments in its title."""
    words = list(process.argv)
    return ["nginx: master process " + " ".join(words)] if name == "floor-proxy.service" else words


def _drop_ins(box: SimulatedBox) -> list[str]:
    return [path for path in box.files if path.startswith(UNITS) and ".d/" in path]


def _read_by(name: str) -> tuple[str, ...]:
    """`floor-copy-x.service` also reads `floor-copy-.service.d` and `floor-.service.d` (systemd.unit(5))."""
    stem, _, suffix = name.rpartition(".")
    cuts = [index for index, letter in enumerate(stem) if letter == "-"]
    return tuple(f"{UNITS}{one}.d/" for one in (name, *(f"{stem[: cut + 1]}.{suffix}" for cut in cuts)))


def _units_there(box: SimulatedBox) -> list[str]:
    names = (path.removeprefix(UNITS) for path in box.files if path.startswith(UNITS))
    return [name for name in names if "/" not in name]


def _file(box: SimulatedBox, path: str) -> dict[str, Any] | None:
    if path.startswith(SECRETS):
        at = box.keyring.file(box, path.removeprefix(SECRETS))
        return None if at is None else {"sha256": "0", "mode": 0o600, "owner": "root:root", "mtime": at}
    file = box.files.get(path)
    return file and {"sha256": file.sha256, "mode": file.mode, "owner": file.owner, "mtime": file.mtime}


def _listening(box: SimulatedBox) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name, process in box.processes.items():
        command = _argv(name, process)
        ports = [process.port] if process.port else []
        if name == "floor-proxy.service":
            servers = [file.text for path, file in box.files.items() if "/servers/" in path]
            ports = [int(port) for text in servers for port in re.findall(r"listen (\d+)", text)]
        if name == "floor-agent.service":
            ports = [json.loads(box.text(paths.AGENT_SETTINGS) or "{}")["port"]]
        found |= {str(port): {"pid": process.pid, "command": " ".join(command)} for port in ports}
    return found
