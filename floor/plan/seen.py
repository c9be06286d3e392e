"""One box as its agent saw it: the parsed answer of the `observe` call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from floor.box.drains import Drain, live
from floor.box.holds import Hold

RUNNING = frozenset({"active", "activating", "reloading", "deactivating"})


@dataclass(frozen=True)
class FileSeen:
    """A file as it lies on the box; `mtime` in unix seconds of that box's clock."""

    sha256: str
    mode: int
    owner: str
    mtime: float


@dataclass(frozen=True)
class UnitSeen:
    """A unit as systemd tells of it, and what its main process was started with.

    `image` is that of its container, also of one that outlived its client; `left` are the processes of its cgroup.
    `leaves`: whether it is a part of a group that a deployment has begun to take away; None where there is nothing to
    tell that: no rank of it runs.
    """

    name: str
    active: str = "inactive"
    sub: str = "dead"
    enabled: str = ""
    argv: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    invocation: str = ""
    dropins: tuple[str, ...] = ()
    needs_reload: bool = False
    main_started: float | None = None
    youngest_child: float | None = None
    image: str | None = None
    left: tuple[int, ...] = ()
    leaves: bool | None = None

    @property
    def running(self) -> bool:
        return self.active in RUNNING

    @property
    def launch(self) -> str:
        """The digest that the running process carries, empty where there is none."""
        return self.env.get("FLOOR_LAUNCH", "")

    @property
    def key(self) -> str:
        """The digest of the engine key that the running process was given, empty where it does not tell."""
        return self.env.get("FLOOR_KEYS", "")


@dataclass(frozen=True)
class OperationSeen:
    """The operation record of a box."""

    epoch: int
    verb: str
    state: str
    live: bool
    by: Mapping[str, Any]
    target: Any = None
    config: str = ""  # the digest of the floor.yaml that it worked from
    passing: bool = False  # nothing of it outlives its hold on the boxes

    @property
    def who(self) -> str:
        return f"{self.by.get('user', '?')}@{self.by.get('host', '?')}"


@dataclass(frozen=True)
class Seen:
    """All that the planner knows of one box. `drains` are those that count now."""

    box: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    mode: str | None = None
    operation: OperationSeen | None = None
    config: str | None = None
    configs: tuple[str, ...] = ()
    files: Mapping[str, FileSeen | None] = field(default_factory=dict)
    texts: Mapping[str, str | None] = field(default_factory=dict)
    owned: tuple[str, ...] = ()
    units: Mapping[str, UnitSeen] = field(default_factory=dict)
    images: Mapping[str, str | None] = field(default_factory=dict)
    paths: Mapping[str, bool] = field(default_factory=dict)
    weights: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    listening: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    drains: Mapping[str, tuple[Drain, ...]] = field(default_factory=dict)
    pool: Mapping[str, Any] | None = None
    secrets: str | None = None
    keys: Mapping[str, Any] = field(default_factory=dict)
    clients: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    firewall: Mapping[str, Any] = field(default_factory=dict)
    tls: Mapping[str, Any] | None = None
    firewalls: tuple[Mapping[str, Any], ...] = ()
    starts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    holds: Mapping[str, Hold] = field(default_factory=dict)
    installed: Mapping[str, str] = field(default_factory=dict)  # the launch that a held unit's file would start
    tests: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by unit, as floor.box.tested has them
    baselines: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # digests of builds, by model

    @property
    def boot(self) -> str:
        """The id of the box's present boot."""
        return str(self.facts.get("boot_id") or "")

    def unit(self, name: str) -> UnitSeen:
        """Given a unit's name, return what was seen of it; a unit that is not there is inactive."""
        return self.units.get(name, UnitSeen(name))

    @property
    def start_key(self) -> str | None:
        """The digest of the engine key that an engine here has which starts now; None where nobody knows."""
        following = self.keys.get("next") or {}
        found = following.get("engine") or self.keys.get("engine")
        return str(found) if found else None

    def pooled(self, model: str) -> Mapping[str, Any]:
        """What this box's pool says of `model`; empty where it knows nothing of it, or where there is no pool."""
        pools = (self.pool or {}).get("pools") or {}
        found: Mapping[str, Any] = pools.get(model) or {}
        return found

    def serving(self, model: str) -> frozenset[str]:
        """The backends of `model` that this box's pool has in it now."""
        return frozenset(self.pooled(model).get("members", ()))

    def drained(self, backend: str) -> tuple[Drain, ...]:
        """Who holds `backend` out of this box's pool now."""
        return self.drains.get(backend, ())


def parse(box: str, answer: Mapping[str, Any]) -> Seen:
    """Given a box's name and the JSON that its agent answered to `observe`, return it typed."""
    operation = _operation(answer["operation"]) if answer.get("operation") else None
    return Seen(
        box=box,
        facts=answer.get("facts") or {},
        mode=answer.get("mode"),
        operation=operation,
        config=answer.get("config"),
        configs=tuple(answer.get("configs") or ()),
        files={path: _file(seen) if seen else None for path, seen in answer["files"].items()},
        texts=answer.get("texts") or {},
        owned=tuple(answer.get("owned") or ()),
        units={name: _unit(name, seen) for name, seen in answer["units"].items()},
        images=answer.get("images") or {},
        paths=answer.get("paths") or {},
        weights=answer.get("weights") or {},
        listening=answer.get("listening") or {},
        drains=counting(answer.get("drains") or {}, operation),
        pool=answer.get("pool"),
        secrets=answer.get("secrets"),
        keys=answer.get("keys") or {},
        clients={name: tuple(keys) for name, keys in (answer.get("clients") or {}).items()},
        tls=answer.get("tls"),
        firewall=answer.get("firewall") or {},
        firewalls=tuple(answer.get("firewalls") or ()),
        starts=answer.get("starts") or {},
        holds={unit: _hold(one) for unit, one in (answer.get("holds") or {}).items()},
        installed={unit: str(one.get("installed") or "") for unit, one in (answer.get("holds") or {}).items()},
        tests=answer.get("tests") or {},
        baselines={model: tuple(names) for model, names in (answer.get("baselines") or {}).items()},
    )


def counting(recorded: Mapping[str, Any], operation: OperationSeen | None) -> dict[str, tuple[Drain, ...]]:
    """Given the drains that a box has on record and its operation, return those that count now.

    What an operation left behind lapses with its lease; it stays on record until the next one drains.
    """
    holding = operation.epoch if operation and operation.live else None
    every = {
        backend: tuple(Drain(one["holder"], one["epoch"], float(one["at"])) for one in held)
        for backend, held in recorded.items()
    }
    return live(every, holding)


def _unit(name: str, seen: Mapping[str, Any]) -> UnitSeen:
    container = seen.get("container") or {}
    return UnitSeen(
        name=name,
        active=seen.get("active") or "inactive",
        sub=seen.get("sub") or "dead",
        enabled=seen.get("enabled") or "",
        argv=tuple(seen.get("argv") or ()),
        env=seen.get("env") or {},
        invocation=seen.get("invocation") or "",
        dropins=tuple(seen.get("dropins") or ()),
        needs_reload=bool(seen.get("needs_reload")),
        main_started=seen.get("main_started"),
        youngest_child=seen.get("youngest_child"),
        image=container.get("image"),
        left=tuple(seen.get("left") or ()),
        leaves=(seen.get("part") or {}).get("leaves"),
    )


def _hold(seen: Mapping[str, Any]) -> Hold:
    return Hold(**{key: value for key, value in seen.items() if key != "installed"})


def _operation(seen: Mapping[str, Any]) -> OperationSeen:
    return OperationSeen(
        epoch=int(seen["epoch"]),
        verb=str(seen.get("verb", "")),
        state=str(seen.get("state", "")),
        live=bool(seen.get("live")),
        by=seen.get("by") or {},
        target=seen.get("target"),
        config=str(seen.get("config") or ""),
        passing=bool(seen.get("passing")),
    )


def _file(seen: Mapping[str, Any]) -> FileSeen:
    return FileSeen(seen["sha256"], int(seen["mode"]), seen["owner"], float(seen["mtime"]))
