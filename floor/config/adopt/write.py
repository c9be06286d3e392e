"""The text of an adopted floor.yaml: where each part came from, and what could not be taken along."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from floor.config import fabric, hosts
from floor.config.adopt.found import Found, engines
from floor.config.adopt.found import hosts as listens
from floor.config.adopt.merge import Joined, join
from floor.config.adopt.options import adopt
from floor.config.emit import flow
from floor.config.init import name as plain_name

FIRST_PORT = 8080  # of the proxies, if nobody has it


@dataclass(frozen=True)
class Look:
    """What was seen of one machine: where it is reached (`local` or an ssh destination), and
    `floor.box.foreign.look`."""

    destination: str
    told: Mapping[str, Any]


@dataclass(frozen=True)
class Adopted:
    """The text of floor.yaml, how many engines are in it, and a line for all that it does not hold."""

    text: str
    engines: int
    lost: tuple[str, ...]


def write(looks: Sequence[Look]) -> Adopted:
    """Given what was seen of some machines, return the floor.yaml that would reproduce their engines."""
    names = _names(looks)
    found = {box: engines(box, look.told) for box, look in names.items()}
    models = join([adopt(one) for some in found.values() for one in some])
    lost = list(_lost(names, models))
    lines = [
        "# floor.yaml, first written by `floor init --adopt`: engines that ran already, as floor would run them.",
        "#",
    ]
    lines += [f"# {line}" for line in _sources(names, found)]
    if lost:
        lines += ["#", "# Not taken along, look it over:", *(f"#   - {line}" for line in lost)]
    lines += ["#", "# What else can be written here: docs/configuration.md.", "", "boxes:"]
    links = fabric.propose({box: look.told.get("links") or () for box, look in names.items()})
    for box, look in names.items():
        own = {"fabric": links[box]} if box in links else {}
        lines.append(f"  {flow(box)}: {flow({**_box(look, found[box]), **own})}")
    lines += ["", "models:" if models else "models: {}  # no engine was found"]
    ports = _free(looks)
    for model in models:
        lines += _model(model, next(ports))
    lines += ["", "proxy:", f"  boxes: {flow(list(names))}", f"  listen: {next(_free(looks))}"]
    return Adopted("\n".join(lines) + "\n", sum(map(len, found.values())), tuple(lost))


def _names(looks: Sequence[Look]) -> dict[str, Look]:
    found: dict[str, Look] = {}
    for look in looks:
        first = plain_name(str(look.told["hostname"]).partition(".")[0], "box")
        name, number = first, 2
        while name in found:
            name, number = f"{first}-{number}", number + 1
        found[name] = look
    return found


def _box(look: Look, found: Sequence[Found]) -> dict[str, Any]:
    """The address that its engines listen on already, else the one it is reached by, else its first."""
    known = list(look.told["addresses"])
    reached = look.destination.rpartition("@")[2].strip("[]")
    wished = [*(address for one in found for address in listens(one)), reached]
    address = next((one for one in wished if one in known), known[0] if known else "127.0.0.1")
    return {"host": address, "ssh": look.destination}


def _model(model: Joined, listen: int) -> Iterator[str]:
    for option in model.options:
        yield f"  # {option.found.box}: {option.found.where}; see `{option.found.shows}`"
    yield f"  {flow(model.name)}:"
    for key, value in model.shared.items():
        yield from _entry(key, value, 4)
    yield f"    listen: {listen}"
    if not any(differs for _, differs in model.copies):
        yield f"    replicas: {flow([box for box, _ in model.copies])}"
        return
    yield "    replicas:"
    for box, differs in model.copies:
        yield f"      - {flow({'box': box, **differs})}"


def _entry(key: str, value: Any, indent: int) -> Iterator[str]:
    if isinstance(value, dict) and value:
        yield f"{' ' * indent}{key}:"
        for name, item in value.items():
            yield f"{' ' * (indent + 2)}{flow(name)}: {flow(item)}"
    else:
        yield f"{' ' * indent}{key}: {flow(value)}"


def _sources(names: Mapping[str, Look], found: Mapping[str, Sequence[Found]]) -> Iterator[str]:
    for box, look in names.items():
        what = ", ".join(f"{one.where} ({one.engine})" for one in found[box]) or "no engine"
        yield f"Found on {box} ({look.destination}): {what}"


def _lost(names: Mapping[str, Look], models: Sequence[Joined]) -> Iterator[str]:
    for box, look in names.items():
        if not look.told["root"]:
            yield f"{box}: seen without root: engines of others, containers and lines of cron may be missing"
        if not look.told["addresses"]:
            yield f"{box}: no address was found: write the one that other boxes reach it by as `host`"
        elif hosts.literal(str(look.told["addresses"][0])) is None:
            yield f"{box}: {look.told['addresses'][0]} is no address"
    for model in models:
        for option in model.options:
            yield from (f"{option.found.box}, {option.found.where}: {line}" for line in option.lost)


def _free(looks: Sequence[Look]) -> Iterator[int]:
    held = {port for look in looks for one in look.told["processes"] for port, _ in one["ports"]}
    held |= {port for look in looks for one in look.told["containers"] for port in one["ports"].values()}
    return (port for port in range(FIRST_PORT, 65536) if port not in held)
