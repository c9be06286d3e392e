"""Something of somebody else's that stands in floor's way on a box."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Foreign:
    """One thing that is not floor's: a unit, a container, a line of cron, a process.

    `key` tells lines of a file and runs of a process apart. `why` says what makes it stand in the way, `shows` is the
    command that shows it, `hindrance` why floor cannot take it over. `backend` is the copy in whose place it runs, on
    `port`; `apart` is why floor's proxies cannot send it requests until then, empty where they can. `front` holds a
    port of floor's own services. A `temporary` container is gone once it is stopped.
    """

    box: str
    kind: str
    name: str
    key: str | None = None
    what: str = ""
    why: str = ""
    shows: str = ""
    hindrance: str = ""
    backend: str | None = None
    port: int | None = None
    running: bool = False
    apart: str = ""
    front: bool = False
    temporary: bool = False

    @property
    def title(self) -> str:
        """Its name as a person says it."""
        return self.what or f"{self.kind} {self.name}"

    @property
    def holds(self) -> bool:
        """Whether it holds what floor needs itself; the others may start or stop something that does."""
        return self.backend is not None or self.front

    @property
    def thing(self) -> dict[str, Any]:
        """What the calls foreign.disable, foreign.stop and foreign.kill take."""
        return {"kind": self.kind, "name": self.name, "key": self.key}

    @property
    def line(self) -> str:
        """One line for a person: where, what, why, and how to see it."""
        return f"{self.box}: {self.title}: {self.why}; see `{self.shows}`"


def keeper(box: str, kind: str, name: str, process: Mapping[str, Any] | None) -> Foreign:
    """Whoever keeps a process, as what can be taken over."""
    if kind == "container":
        return Foreign(box, "container", name, shows=f"docker inspect {name}")
    if kind == "unit" and name in ("docker.service", "containerd.service"):
        return Foreign(
            box, "unit", name, shows="docker ps", hindrance="see which container publishes the port, and stop that"
        )
    if kind == "unit":
        return Foreign(box, "unit", name, shows=f"systemctl status {name}")
    one = process or {"pid": 0, "ticks": 0, "user": "?", "argv": []}
    if kind == "user-unit":
        hindrance = (
            f"it belongs to the systemd of user {one['user']}: `systemctl --user disable --now {name}` as that user"
        )
        return Foreign(box, "unit", name, shows=f"systemctl --user status {name}", hindrance=hindrance)
    return Foreign(
        box,
        "process",
        str(one["pid"]),
        key=str(one["ticks"]),
        shows=f"ps -fp {one['pid']}",
        what=f"process {one['pid']} of {one['user']}",
        hindrance="it is the first process of the box; see `systemctl list-sockets`" if one["pid"] == 1 else "",
    )
