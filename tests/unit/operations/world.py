"""Boxes that exist only in memory and answer the agent's calls: units, files, drains, pools, the real lease rules.

A world counts its calls and can die at any one of them, before or after it took effect: what a SIGKILL of the caller,
a power cut or a lost answer look like to `floor`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from floor.apply.transport import UnreachableError
from floor.box import lease
from floor.desired.state import BoxState, Kind, Launch
from floor.errors import BusyError, FloorError, RefusedError

FACTS = {"nginx": "1.22.1", "docker": "20.10", "ipv6": False, "nginx_user": "www-data", "memory": {}}
READING = frozenset({"observe", "nginx.test", "unit.wait", "pool.wait", "engine.idle", "memory.wait", "operation.take"})


class Killed(BaseException):
    """The calling process is dead from here on."""


@dataclass
class World:
    """All boxes, one clock, and what the processes that run were started with."""

    boxes: dict[str, SimulatedBox] = field(default_factory=dict)
    now: float = 1000.0
    load_seconds: float = 30.0
    broken: set[str] = field(default_factory=set)  # launch digests that never come up
    launches: dict[str, Launch] = field(default_factory=dict)
    calls: int = 0
    die_at: int | None = None
    die_after: bool = False
    dead: bool = False
    log: list[str] = field(default_factory=list)
    watch: Callable[[], None] = lambda: None

    def learn(self, wanted: Mapping[str, BoxState]) -> None:
        """Processes started from now on carry these launches."""
        for state in wanted.values():
            self.launches |= {unit.launch.digest: unit.launch for unit in state.units}

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def clock(self) -> float:
        return self.now

    def members(self, proxy: str, model: str) -> set[str]:
        """Who is in the pool of `model` on one proxy box."""
        box = self.boxes[proxy]
        held = box.live_drains()
        return {
            f"{model}@{name}"
            for name, other in self.boxes.items()
            if other.up and other.state(f"floor-copy-{model}.service") == "active" and f"{model}@{name}" not in held
        }

    def tick(self, box: str, call: str, answer: Callable[[], Any]) -> Any:
        if self.dead:
            raise Killed
        self.calls += 1
        self.now += 0.05
        self.log.append(f"{box} {call}")
        self.dead = self.die_at == self.calls
        if self.dead and not self.die_after:
            raise Killed
        result = answer()
        self.watch()
        if self.dead:
            raise Killed
        return result


@dataclass
class Process:
    """A unit that was started: since when, with which launch, and its invocation id."""

    started: float
    digest: str
    invocation: str


class SimulatedBox:
    """One box. It is a Transport: `call` answers as the agent would."""

    def __init__(self, world: World, name: str, copies: str = "") -> None:
        self.world, self.name, self.up = world, name, True
        self.files: dict[str, dict[str, Any]] = {}
        self.processes: dict[str, Process] = {}
        self.enabled: set[str] = set()
        self.needs_reload: set[str] = set()
        self.drains: dict[str, list[dict[str, Any]]] = {}
        self.record: lease.Record | None = None
        self.secrets: str | None = None
        self.config: str | None = None
        self.configs: list[str] = []
        self.release = "1"
        self.boot = "boot-1"
        self.starts: list[str] = []
        self.images: dict[str, str] = {}
        world.boxes[name] = self

    # what the tests do to it
    def power_cut(self) -> None:
        """Everything in memory is gone; enabled units start again."""
        self.boot += "x"
        self.processes.clear()
        for unit in sorted(self.enabled):
            self._start(unit)

    def edit(self, path: str, text: str) -> None:
        """Somebody edits a file by hand."""
        self.files[path] = self._file(text, 0o644, "root:root")
        if path.startswith("/etc/systemd/system/"):
            self.needs_reload.add(path.split("/")[4].removesuffix(".d"))

    def state(self, unit: str) -> str:
        process = self.processes.get(unit)
        if process is None:
            return "inactive"
        if process.digest in self.world.broken:
            return "failed" if self.world.now > process.started + 5 else "activating"
        slow = unit.startswith("floor-copy-")
        ready = process.started + (self.world.load_seconds if slow else 0)
        return "active" if self.world.now >= ready else "activating"

    def live_drains(self) -> set[str]:
        epoch = self.record["epoch"] if self.record and lease.live(self.record, self._now()) else None
        return {b for b, held in self.drains.items() if any(d["epoch"] in (None, epoch) for d in held)}

    # the transport
    def call(
        self, name: str, params: Mapping[str, Any] | None = None, *, timeout: float = 30, payload: bytes | None = None
    ) -> Any:
        if not self.up:
            raise UnreachableError(f"{self.name}: no route to host")
        return self.world.tick(self.name, name, lambda: self._answer(name, dict(params or {})))

    def _answer(self, name: str, params: dict[str, Any]) -> Any:
        if name not in READING and params.get("epoch") is not None:
            try:
                self.record = lease.renewed(lease.held(self.record, params["epoch"], self._now()), self._now())
            except lease.HeldError as error:
                raise BusyError(str(error)) from error
        return getattr(self, "_" + name.replace(".", "_"))(params)

    def _now(self) -> lease.Now:
        return lease.Now(self.boot, self.world.now)

    def _operation_take(self, params: dict[str, Any]) -> Any:
        try:
            self.record = lease.take(self.record, params, self._now())
        except lease.HeldError as error:
            raise BusyError(str(error)) from error
        return self.record

    def _operation_renew(self, params: dict[str, Any]) -> Any:
        return self.record

    def _operation_release(self, params: dict[str, Any]) -> Any:
        assert self.record is not None
        self.record = {**self.record, "state": params["state"]}
        return self.record

    def _observe(self, params: dict[str, Any]) -> Any:
        asked = params.get("files", ())
        names = {*params.get("units", {}), *self.processes, *self.enabled, *(self._units_there())}
        record = self.record and {**self.record, "live": lease.live(self.record, self._now())}
        return {
            "facts": FACTS,
            "release": self.release,
            "mode": (self.files.get("/etc/floor/mode") or {}).get("text", "").strip() or None,
            "operation": record,
            "config": self.config,
            "configs": list(self.configs),
            "files": {path: self._shown(path) for path in asked},
            "owned": sorted(self.files),
            "texts": {path: (self.files.get(path) or {}).get("text") for path in params.get("read", ())},
            "units": {unit: self._unit(unit) for unit in names},
            "images": {ref: self.images.get(ref, "sha256:1") for ref in params.get("images", ())},
            "paths": dict.fromkeys(params.get("paths", ()), True),
            "listening": {},
            "drains": {b: list(held) for b, held in self.drains.items() if b in self.live_drains()},
            "pool": self._pool(),
            "secrets": self.secrets,
        }

    def _pool(self) -> Any:
        path = "/etc/floor/pool.json"
        if self.state("floor-pool.service") != "active" or path not in self.files:
            return None
        found = {}
        for pool in __import__("json").loads(self.files[path]["text"])["pools"]:
            members = self.world.members(self.name, pool["model"])
            names = [b["name"] for b in pool["backends"]]
            found[pool["model"]] = {
                "members": [name for name in names if name in members],
                "backends": {name: {"member": name in members} for name in names},
            }
        return {"pools": found}

    def _unit(self, name: str) -> dict[str, Any]:
        process = self.processes.get(name)
        launch = self.world.launches.get(process.digest) if process else None
        argv = list(launch.argv) if launch else []
        if name == "floor-proxy.service" and launch:
            argv = ["nginx: master process " + " ".join(launch.argv)]
        drop_ins = [path for path in self.files if path.startswith(f"/etc/systemd/system/{name}.d/")]
        return {
            "active": self.state(name),
            "sub": "running",
            "enabled": "enabled" if name in self.enabled else "disabled",
            "argv": argv,
            "env": {"FLOOR_LAUNCH": process.digest, **(launch.env if launch else {})} if process else {},
            "invocation": process.invocation if process else "",
            "dropins": drop_ins,
            "needs_reload": name in self.needs_reload,
            "restarts": 0,
            "main_started": process.started if process else None,
            "youngest_child": process.started if process else None,
            "container": {"id": "c", "image": self.image_of(process)} if launch and launch.image else None,
        }

    def image_of(self, process: Process | None) -> str:
        return process.invocation.split("/")[1] if process else ""

    def _units_there(self) -> list[str]:
        return [path.rsplit("/", 1)[1] for path in self.files if re.fullmatch(r"/etc/systemd/system/[^/]+", path)]

    def _shown(self, path: str) -> Any:
        file = self.files.get(path)
        if file is None:
            return None
        return {
            "sha256": hashlib.sha256(file["text"].encode()).hexdigest(),
            **{k: file[k] for k in ("mode", "owner", "mtime")},
        }

    def _file(self, text: str, mode: int, owner: str) -> dict[str, Any]:
        return {"text": text, "mode": mode, "owner": owner, "mtime": self.world.now}

    def _files_put(self, params: dict[str, Any]) -> Any:
        for file in params["files"]:
            self.files[file["path"]] = self._file(file["text"], file["mode"], file["owner"])
            if file["path"].startswith("/etc/systemd/system/"):
                self.needs_reload.add(file["path"].rsplit("/", 1)[1])
        return {"changed": [file["path"] for file in params["files"]]}

    def _files_remove(self, params: dict[str, Any]) -> Any:
        for path in params["paths"]:
            self.files.pop(path, None)
        return {"changed": params["paths"]}

    def _nginx_test(self, params: dict[str, Any]) -> Any:
        return {"ok": True, "output": ""}

    def _units_reload(self, params: dict[str, Any]) -> Any:
        self.needs_reload.clear()
        return {}

    def _unit_enable(self, params: dict[str, Any]) -> Any:
        self.enabled.add(params["unit"])
        return {}

    def _unit_disable(self, params: dict[str, Any]) -> Any:
        self.enabled.discard(params["unit"])
        return {}

    def _unit_start(self, params: dict[str, Any]) -> Any:
        if self.state(params["unit"]) not in ("active", "activating"):
            self._start(params["unit"])
        return {}

    def _unit_restart(self, params: dict[str, Any]) -> Any:
        self._start(params["unit"])
        return {}

    def _unit_reload(self, params: dict[str, Any]) -> Any:
        self.processes[params["unit"]].started = self.world.now
        return {}

    def _unit_stop(self, params: dict[str, Any]) -> Any:
        self.processes.pop(params["unit"], None)
        return {"stopped": True, "left": []}

    def _start(self, unit: str) -> None:
        text = (self.files.get(f"/etc/systemd/system/{unit}") or {}).get("text")
        if text is None:
            raise FloorError(f"{self.name}: there is no unit {unit}")
        found = re.search(r"FLOOR_LAUNCH=([0-9a-f]+)", text)
        digest = found.group(1) if found else Launch(argv=()).digest
        launch = self.world.launches.get(digest)
        image = self.images.get(launch.image, "sha256:1") if launch and launch.image else ""
        self.starts.append(unit)
        self.processes[unit] = Process(self.world.now, digest, f"{unit}#{len(self.starts)}/{image}")

    def _unit_wait(self, params: dict[str, Any]) -> Any:
        if self.state(params["unit"]) == "activating":
            self.world.sleep(min(params.get("timeout", 1), 10))
        return {**self._unit(params["unit"]), "log": "loading", "result": "exit-code"}

    def _drain_add(self, params: dict[str, Any]) -> Any:
        model = params["backend"].split("@")[0]
        members = self.world.members(self.name, model)
        if not params.get("last") and members == {params["backend"]}:
            raise RefusedError(f"{params['backend']} is the only member of {model}'s pool")
        drain = {"holder": params["holder"], "epoch": params["epoch"], "at": 0}
        self.drains.setdefault(params["backend"], []).append(drain)
        return {}

    def _drain_remove(self, params: dict[str, Any]) -> Any:
        held = self.drains.get(params["backend"], [])
        key = (params["holder"], params["epoch"])
        self.drains[params["backend"]] = [d for d in held if (d["holder"], d["epoch"]) != key]
        return {}

    def _pool_wait(self, params: dict[str, Any]) -> Any:
        member = params["backend"] in self.world.members(self.name, params["model"])
        return {"reached": member == params["member"], "state": {}}

    def _engine_idle(self, params: dict[str, Any]) -> Any:
        return {"idle": True}

    def _memory_wait(self, params: dict[str, Any]) -> Any:
        return {"fits": True}

    def _secrets_ensure(self, params: dict[str, Any]) -> Any:
        self.secrets = self.secrets or "k1"
        return {"engine": self.secrets, "status": "s"}

    def _secrets_put(self, params: dict[str, Any]) -> Any:
        self.secrets = params["engine"]
        return {}

    def _config_put(self, params: dict[str, Any]) -> Any:
        self.config = params["text"]
        self.configs.append(hashlib.sha256(params["text"].encode()).hexdigest())
        return {}

    def _events_append(self, params: dict[str, Any]) -> Any:
        return {}


KINDS = tuple(Kind)
