"""Something of somebody else's that stands in floor's way on a box."""

from __future__ import annotations

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
    def thing(self) -> dict[str, Any]:
        """What the calls foreign.disable, foreign.stop and foreign.kill take."""
        return {"kind": self.kind, "name": self.name, "key": self.key}

    @property
    def line(self) -> str:
        """One line for a person: where, what, why, and how to see it."""
        return f"{self.box}: {self.title}: {self.why}; see `{self.shows}`"
