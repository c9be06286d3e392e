"""Units, timers and lines of cron that would start or stop engines: which are in the way, and which only ask."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from floor.plan.aim import Aim
from floor.plan.difference import ENGINE_PREFIXES
from floor.plan.standing import Foreign, keeper

SPEAKS = {"vllm": "vllm", "floor.sim": "vllm", "llama-server": "llamacpp", "llama.cpp": "llamacpp", "ollama": "ollama"}


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
    names = {thing.name.removesuffix(".service") for thing in standing} - set(others)
    known = {thing.name for thing in standing}
    speaks = {copy.resolved.engine for copy in aim.copies if copy.on(box)}
    strings = {str(port) for port in ports(aim, box)}

    def meant(mention: Mapping[str, Any]) -> bool:
        word = str(mention["word"])
        engine = SPEAKS.get(word) in speaks and word not in others
        return bool(mention["acts"]) and (word in strings | names or word.startswith(ENGINE_PREFIXES) or engine)

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
            _judge(things, notes, thing, [hit for hit in unit["mentions"] if meant(hit)], unit["mentions"])
    for line in told["cron"]:
        place = f"{line['path']}:{line['number']}"
        shows = f"sed -n {line['number']}p {line['path']}"
        thing = Foreign(box, "cron", line["path"], key=line["digest"], what=f"cron's line {place}", shows=shows)
        _judge(things, notes, thing, [hit for hit in line["mentions"] if meant(hit)], line["mentions"])
    return things, notes


def _judge(
    things: list[Foreign],
    notes: list[str],
    thing: Foreign,
    meant: Sequence[Mapping[str, Any]],
    every: Sequence[Mapping[str, Any]],
) -> None:
    hit = (meant or every)[0]
    evidence = f"{hit['where']} says `{hit['line']}`"
    if meant:
        things.append(replace(thing, why=f"it may start or stop engines: {evidence}"))
    else:
        notes.append(f"{thing.box}: {thing.title} stays; it mentions {hit['word']}: {evidence}; see `{thing.shows}`")
