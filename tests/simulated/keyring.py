"""The keys of a simulated box besides its present engine key: those that follow, and those of clients."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from floor.box.secrets import digest

if TYPE_CHECKING:
    from tests.simulated.box import SimulatedBox

STATUS = "the-status-key-of-all"
OWN = "floor"
# What carries the key that an engine has which starts now.
STARTS = ("engine.env", "keys.env", "engine-key-next.conf", "engine-llamacpp.env")


@dataclass
class Keyring:
    """`following` holds, by kind, the key that follows; `changed` when each file was last another, by its name."""

    status: str = STATUS
    following: dict[str, str] = field(default_factory=dict)
    clients: dict[str, list[str]] = field(default_factory=dict)
    changed: dict[str, float] = field(default_factory=dict)
    made: int = 0
    complete: bool = True  # whether every file that is made from the keys is there

    def engine(self, box: SimulatedBox) -> tuple[str | None, str | None]:
        """The present engine key of a box, and the one that follows it."""
        return (box.secrets[0] if box.secrets else None), self.following.get("engine")

    def starting(self, box: SimulatedBox) -> str | None:
        """The engine key that an engine has which starts now."""
        present, following = self.engine(box)
        return following or present

    def make(self, box: SimulatedBox, what: str) -> str:
        self.made += 1
        return f"{what}-of-{box.name}-{self.made}"

    def follow(self, box: SimulatedBox, following: dict[str, str]) -> None:
        """These keys are to follow the present ones."""
        for kind in {*self.following, *following}:
            if self.following.get(kind) != following.get(kind):
                names = (f"{kind}.next", *(STARTS if kind == "engine" else ()))
                self.changed |= dict.fromkeys(names, box.world.now)
        self.following = dict(following)

    def promote(self, box: SimulatedBox) -> None:
        """What follows becomes the present."""
        if "engine" in self.following:
            box.secrets = (self.following["engine"], box.world.now)
        if "status" in self.following:
            self.status = self.following["status"]
            self.changed["status.key"] = box.world.now
        self.following = {}

    def put_clients(self, box: SimulatedBox, clients: dict[str, list[str]]) -> None:
        if clients != self.clients:
            self.clients, self.changed["clients.conf"] = dict(clients), box.world.now

    def file(self, box: SimulatedBox, name: str) -> float | None:
        """When a file of the secrets was changed last; None where there is none."""
        if box.secrets is None or (name == "clients.conf" and not self.clients):
            return None
        if name.endswith(".next"):
            return self.changed.get(name) if name.removesuffix(".next") in self.following else None
        own = self.changed.get(name, 0.0)
        return own if name in ("clients.conf", "status.key") and own else max(own, box.secrets[1])

    def told(self, box: SimulatedBox) -> dict[str, Any]:
        """The part of an observation that tells of keys."""
        if box.secrets is None:
            return {"secrets": None, "keys": None, "clients": {}}
        following = {kind: digest(key) for kind, key in self.following.items()}
        whole = [box.secrets[0], self.status, *(self.following.get(kind, "") for kind in ("engine", "status"))]
        return {
            "secrets": digest("\n".join(whole)),
            "keys": {
                "engine": digest(box.secrets[0]),
                "status": digest(self.status),
                "next": following,
                "complete": self.complete,
            },
            "clients": {name: [digest(key) for key in keys] for name, keys in self.clients.items()},
        }
