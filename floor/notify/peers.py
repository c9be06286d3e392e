"""Which of several proxy boxes tells what all their pools see. Pure.

The first of floor.yaml whose pool sees it. Each pool has its own view (clients of one know nothing of another's), so
what only one sees is told by that one, and a box that is down, or whose pool is silent, speaks for nobody. Seeing is
not telling: a web hook fails, a timer is stopped, an hour's messages are used up. So the others wait for it a while.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from .decide import Matter, Told
from .matters import SILENT

PATIENCE = 300.0  # seconds more that a matter must last where a box before this one sees it and has not told it


def own(found: Sequence[Matter], told: Told, earlier: Sequence[Mapping[str, Any]]) -> list[Matter]:
    """Given what this box's pool is short of, what was told from here, and what the status ports of the proxy boxes
    before this one tell, return the matters that are this box's to tell, those later that another one may tell first.
    What it has told once stays its own."""
    return list(_own(found, told, earlier))


def _own(found: Sequence[Matter], told: Told, earlier: Sequence[Mapping[str, Any]]) -> Iterator[Matter]:
    begun = {key for key, one in told.open.items() if one.told is not None}
    for one in found:
        seeing = [] if one.key in begun else [status for status in earlier if _sees(status, one.key)]
        if not any(one.key in (status.get("told") or ()) for status in seeing):
            yield replace(one, after=one.after + PATIENCE) if seeing else one


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
