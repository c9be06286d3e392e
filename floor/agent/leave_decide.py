"""Whether a copy that is about to be stopped still has to be waited for. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SILENT = 5.0  # seconds for a proxy box that does not tell, or whose pool does not run: it may be gone itself
LATE = 30.0  # seconds for a pool that tells and does not let go: it takes one, unless its nginx refuses to reload
OLD = 10.0  # seconds; a pool writes its state every 2, an older one tells nothing about now
QUIET = 2  # looks in a row that must find nothing running: between two an engine may take up what it was just sent
OUT = ("leaving", "drained")  # why a backend is out that does not come in again by itself


@dataclass(frozen=True)
class Proxy:
    """What a proxy box told last of one backend, and how many seconds ago it did; infinite if it never has."""

    gone: bool
    heard: float


def gone(status: Mapping[str, Any], backend: str) -> bool | None:
    """Given a box's status, return whether its proxy sends nothing to `backend` any more and will not begin to.

    None if it does not tell: no pool runs there, or none that has looked of late. A backend that a pool does not know
    gets nothing from it. One that is out for another reason than that it leaves may be let in at the next look.
    """
    pool = status.get("pool")
    if not isinstance(pool, Mapping) or not pool.get("age", OLD) < OLD:
        return None
    seen = pool["backends"].get(backend)
    if seen is None:
        return True
    reason = str(seen["reason"])
    return bool(seen["acknowledged"]) and (reason in OUT or reason.startswith("unit "))


def holding(proxies: Mapping[str, Proxy], waited: float) -> list[str]:
    """Given what each proxy box told and the seconds since the mark, return those that have to be waited for."""
    return [
        name
        for name, proxy in proxies.items()
        if not proxy.gone and (waited < LATE if proxy.heard < SILENT else waited < SILENT)
    ]


def idle(quiet: int) -> bool:
    """Given how many looks in a row found nothing running or waiting, return whether that is enough."""
    return quiet >= QUIET
