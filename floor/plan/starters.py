"""Units, timers and lines of cron that would start or stop engines: which are in the way, and which only ask."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from floor.box.foreign.meant import Aimed
from floor.plan.aim import Aim
from floor.plan.standing import Foreign, keeper


def ports(aim: Aim, box: str) -> list[int]:
    """The ports of the engines that floor wants on a box."""
    return sorted({part.resolved.port for copy in (*aim.copies, *aim.sleeping) if (part := copy.on(box))})


def starters(
    aim: Aim, box: str, told: Mapping[str, Any], standing: Sequence[Foreign], others: Collection[str]
) -> tuple[list[Foreign], list[str]]:
    """Given the aim, a box, what its agent's `foreign.look` told, what stands in the way there already and the names of
    engines that may stay, return what else stands in the way, and in words what only mentions an engine."""
    things: list[Foreign] = []
    notes: list[str] = []
    known = {thing.name for thing in standing}
    aimed = Aimed(
        dialects={copy.resolved.engine for copy in aim.copies if copy.on(box)},
        ports=ports(aim, box),
        names={thing.name.removesuffix(".service") for thing in standing} - set(others),
        others=others,
        rivals=told.get("rivals"),
    )
    for unit in told["units"]:
        if unit["name"] in known or unit["name"].removesuffix(".service") in others:
            continue
        thing = keeper(box, "unit", unit["name"], None)
        thing = replace(
            thing, shows=f"systemctl cat {unit['name']}", running=unit["active"] in ("active", "activating")
        )
        if unit["conflicts"]:
            things.append(replace(thing, why=f"it conflicts with {', '.join(unit['conflicts'])}: its start stops that"))
        else:
            _judge(things, notes, thing, aimed, unit["mentions"])
    for line in told["cron"]:
        place = f"{line['path']}:{line['number']}"
        shows = f"sed -n {line['number']}p {line['path']}"
        thing = Foreign(box, "cron", line["path"], key=line["digest"], what=f"cron's line {place}", shows=shows)
        _judge(things, notes, thing, aimed, line["mentions"])
    return things, notes


def _judge(
    things: list[Foreign], notes: list[str], thing: Foreign, aimed: Aimed, mentions: Sequence[Mapping[str, Any]]
) -> None:
    meant = [hit for hit in mentions if aimed.meant(hit)]
    if meant:
        things.append(replace(thing, why=f"it may start or stop engines: {aimed.evidence(meant[0])}"))
    elif mentions:
        hit = mentions[0]
        said = aimed.evidence(hit)
        notes.append(f"{thing.box}: {thing.title} stays; it mentions {hit['word']}: {said}; see `{thing.shows}`")
