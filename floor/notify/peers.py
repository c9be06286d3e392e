"""Which of several proxy boxes tells what all their pools see. Pure.

The first of floor.yaml whose pool sees it. Each pool has its own view (clients of one know nothing of another's), so
what only one sees is told by that one, and a box that is down, or whose pool is silent, speaks for nobody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .decide import Matter, Told
from .matters import SILENT


def own(found: Sequence[Matter], told: Told, earlier: Sequence[Mapping[str, Any]]) -> list[Matter]:
    """Given what this box's pool is short of, what was told from here, and what the status ports of the proxy boxes
    before this one tell, return the matters that are this box's to tell. What it has told once stays its own."""
    begun = {key for key, one in told.open.items() if one.told is not None}
    return [one for one in found if one.key in begun or not any(_sees(status, one.key) for status in earlier)]


def _sees(status: Mapping[str, Any], key: str) -> bool:
    """Whether a box that stays up has a pool that reports and sees a matter of this key."""
    try:
        pool = status["pool"]
        if status["stopping"] or pool["age"] > SILENT:
            return False
        members = {str(name): one["member"] is True for name, one in pool["backends"].items()}
    except (KeyError, TypeError, AttributeError):
        return False  # no pool, or an older release
    kind, _, name = key.rpartition(" ")
    if kind == "lost":
        return members.get(name) is False
    here = [member for backend, member in members.items() if backend.rpartition("@")[0] == name]
    return bool(here) and sum(here) == {"nobody": 0, "one left": 1}.get(kind)
