"""Foreign units, timers and lines of cron that start, stop or fight with engines of ours. Pure.

They are the real killers of a switch and of a restart: one that starts whatever is enabled and not running, or restarts
a unit whose `Conflicts=` stops ours. A deployment finds them; this is for those that come later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from floor.box.foreign.meant import Aimed

from .decide import Matter


def words(
    found: Mapping[str, Any], units: Sequence[str], ports: Sequence[int] = (), dialects: Sequence[str] = ()
) -> list[str]:
    """Given what mentions engines on a box (as floor.box.foreign.later tells), and the units, ports and dialects of our
    engines there, return a line for each that could start, stop or fight with ours, as a deployment would judge it."""
    others = set(found.get("others", ()))
    names = {unit.removesuffix(".service") for unit in units} | (set(found.get("taken", ())) - others)
    aimed = Aimed(set(dialects), set(ports), names, others, found.get("rivals"))
    told = []
    for unit in found["units"]:
        if unit["name"].removesuffix(".service") in others:
            continue
        if unit["conflicts"]:
            told.append(
                f"{unit['name']} (somebody else's) conflicts with {', '.join(unit['conflicts'])}: its start stops that"
            )
        elif hit := next(filter(aimed.meant, unit["mentions"]), None):
            told.append(f"{unit['name']} (somebody else's) may start or stop engines: {aimed.evidence(hit)}")
    told += [
        f"{line['path']}:{line['number']} (cron of {line['user']}) may start or stop engines: {aimed.evidence(hit)}"
        for line in found["cron"]
        if (hit := next(filter(aimed.meant, line["mentions"]), None))
    ]
    return told


def matters(told: Sequence[str]) -> list[Matter]:
    """Given these lines, return what a person is told."""
    return [Matter(f"foreign {text.split()[0]}", text) for text in told]
