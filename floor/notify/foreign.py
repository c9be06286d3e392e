"""Foreign units, timers and lines of cron that start, stop or fight with engines of ours. Pure.

They are the real killers of a switch and of a restart: one that starts whatever is enabled and not running, or restarts
a unit whose `Conflicts=` stops ours. A deployment finds them; this is for those that come later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .decide import Matter


def words(found: Mapping[str, Any], ours: Sequence[str]) -> list[str]:
    """Given what mentions engines on a box (units and lines of cron, as floor.box.foreign.starters tells) and the units
    of our copies, return a line for each of those that mention or conflict with ours."""
    names = {unit.removesuffix(".service") for unit in ours}
    told = []
    for unit in found["units"]:
        if unit["conflicts"]:
            told.append(f"{unit['name']} (somebody else's) conflicts with {', '.join(unit['conflicts'])}")
        elif hit := _mention(unit["mentions"], names):
            told.append(f"{unit['name']} (somebody else's) mentions {hit['word']} in {hit['where']}: {hit['line']}")
    told += [
        f"{line['path']}:{line['number']} (cron of {line['user']}) mentions {hit['word']}: {hit['line']}"
        for line in found["cron"]
        if (hit := _mention(line["mentions"], names))
    ]
    return told


def matters(told: Sequence[str]) -> list[Matter]:
    """Given these lines, return what a person is told."""
    return [Matter(f"foreign {text.split()[0]}", text) for text in told]


def _mention(mentions: Sequence[Mapping[str, str]], names: set[str]) -> Mapping[str, str] | None:
    return next((hit for hit in mentions if hit["word"].removesuffix(".service") in names), None)
