"""The pools of one simulated proxy box, and the nginx in front of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from floor.box import drains
from floor.box.drains import Drain
from floor.pool.missed import Told, missed
from tests.simulated import engines
from tests.simulated.world import PROOF_SECONDS, REQUEST_SECONDS

if TYPE_CHECKING:
    from tests.simulated.box import Process, SimulatedBox

POOL, PROXY = "floor-pool.service", "floor-proxy.service"


class Pools:
    """What floor-pool of a box would decide. It looks with the settings and the key that its process was started with.

    While it does not run the members stay as they are: nginx goes on with them.
    """

    def __init__(self, box: SimulatedBox) -> None:
        self._box = box
        self.members: dict[str, list[str]] = {}
        self.ways: set[str] = set()  # the members that nginx reaches by the way of the key that follows
        self.last: dict[str, float] = {}  # when a backend was a member for the last time
        self._since: dict[str, float] = {}
        self._last: tuple[float, dict[str, Any], dict[str, list[str]]] | None = None

    def forget(self) -> None:
        """The box has lost its power."""
        self.members, self._since, self._last = {}, {}, None

    def look(self) -> None:
        """Decide once."""
        process = self._box.processes.get(POOL)
        if not self._box.up:
            return
        if process is None or self._box.state(POOL) != "active":
            self._remember()
            return
        self._adopt()
        held = self._box.live_drains()
        found: dict[str, list[str]] = {}
        for pool in process.settings["pools"]:
            names = [backend["name"] for backend in pool["backends"]]
            found[pool["model"]] = [name for name in names if self._serves(pool, name, held)]
        self._reload(found, process)
        self._remember()
        self._last = (self._box.world.now, process.settings, held)

    def _adopt(self) -> None:
        """Hold what operations found absent without this box."""
        box = self._box
        epochs = {other.name: other.record["epoch"] if other.record else 0 for other in box.world.boxes.values()}
        told = [
            Told(epochs[other.name], absences)
            for other in box.world.boxes.values()
            if other.up and (absences := _absences(other.recorded))
        ]
        for backend, holder in missed(told, epochs[box.name], box.recorded):
            box.recorded[backend] = (*box.recorded.get(backend, ()), Drain(holder, None, 0.0))

    def state(self) -> dict[str, Any] | None:
        """What floor-pool wrote when it looked for the last time."""
        if self._last is None:
            return None
        at, settings, held = self._last
        return {"at": at, "pools": self._told(settings, held)}

    def answers(self, model: str, name: str) -> bool:
        """Whether a client's request reaches an engine that takes it."""
        proxy = self._box.processes.get(PROXY)
        if not self._box.up or proxy is None:
            return False
        settings = (self._box.processes.get(POOL) or proxy).settings
        found = [one for pool in settings["pools"] for one in pool["backends"] if one["name"] == name]
        sent = proxy.following if name in self.ways else proxy.key
        return any(self._reaches(one, {sent}) for one in found)

    def _serves(self, pool: dict[str, Any], name: str, held: dict[str, list[str]]) -> bool:
        backend = next(one for one in pool["backends"] if one["name"] == name)
        world = self._box.world
        process = self._box.processes[POOL]
        fit = self._reaches(backend, {process.key, process.following}) and name not in held and name not in world.hung
        if not fit:
            self._since.pop(name, None)
            return False
        since = self._since.setdefault(name, world.now)
        return name in self.members.get(pool["model"], ()) or world.now - since >= PROOF_SECONDS

    def _reload(self, found: dict[str, list[str]], pool: Process) -> None:
        """nginx reads its files when the members change, or the way to one of them."""
        named = {one["name"]: one for each in pool.settings["pools"] for one in each["backends"]}
        ways = {
            name
            for names in found.values()
            for name in names
            if named[name].get("next") and not self._reaches(named[name], {pool.key})
        }
        proxy = self._box.processes.get(PROXY)
        if (found, ways) != (self.members, self.ways) and proxy is not None:
            proxy.key, proxy.following = self._box.keyring.engine(self._box)
        self.members, self.ways = found, ways

    def _reaches(self, backend: dict[str, Any], keys: set[str | None]) -> bool:
        box, unit = self._box.world.boxes.get(backend["box"]), backend["unit"]
        if unit is None and box is None:
            return backend["name"] not in self._box.world.broken
        if unit is None and box is not None:  # somebody else's engine, in the place of a copy
            if box.up and any(one.running and one.engine and one.port == backend["port"] for one in box.others):
                return True
            unit = engines.unit_of(backend["name"])
        process = box.processes.get(unit) if box is not None and box.up else None
        if box is None or process is None or box.state(unit) != "active":
            return False
        admitted = box.admits(self._box, backend["port"])
        return bool(process.port == backend["port"] and process.key in keys and admitted)

    def _remember(self) -> None:
        for names in self.members.values():
            self.last |= dict.fromkeys(names, self._box.world.now)

    def busy(self, name: str) -> bool:
        """Whether this proxy box has sent something to a backend that is not answered yet."""
        return self._box.world.now < self.last.get(name, -REQUEST_SECONDS) + REQUEST_SECONDS

    def _told(self, settings: dict[str, Any], held: dict[str, list[str]]) -> dict[str, Any]:
        return {
            pool["model"]: {
                "members": list(self.members[pool["model"]]),
                "backends": {
                    one["name"]: {
                        "member": one["name"] in self.members[pool["model"]],
                        "reason": "drained" if one["name"] in held else "ok",
                        "evidence": f"looked at {one['url']}",
                        "running": 1,
                        "waiting": 0,
                        "drains": held.get(one["name"], []),
                    }
                    for one in pool["backends"]
                },
            }
            for pool in settings["pools"]
        }


def _absences(recorded: drains.Drains) -> dict[str, tuple[str, ...]]:
    """What a box that was away has to hold as well: for absence, or until a test has passed."""
    kinds = (drains.is_absence, drains.is_untested)
    found = {
        backend: tuple(one.holder for one in held if one.epoch is None and any(kind(one.holder) for kind in kinds))
        for backend, held in recorded.items()
    }
    return {backend: holders for backend, holders in found.items() if holders}


def settings(text: str | None) -> dict[str, Any]:
    """Given the text of pool.json, return what a process that starts now reads."""
    return dict(json.loads(text)) if text else {"pools": []}
