"""What somebody else runs on a box and stands in floor's way: each with its evidence and the command that shows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from floor.box.foreign.procs import LARGE
from floor.config.adopt.found import Found, engines, own
from floor.config.adopt.options import Option, adopt
from floor.plan.aim import Aim, Wanted
from floor.plan.standing import Foreign, keeper
from floor.plan.starters import starters
from floor.sizes import gib

EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 -- compared, not listened on
_KEYS = ("--api-key", "VLLM_API_KEY", "LLAMA_API_KEY")


@dataclass
class Met:
    """What was met on one box: what is in the way, and in words what is there and may stay."""

    things: list[Foreign] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def meet(aim: Aim, box: str, told: Mapping[str, Any]) -> Met:
    """Given the aim, a box and what its agent's `foreign.look` told, return what is in the way there."""
    met, others = Met(), set[str]()
    for found in engines(box, told):
        option = adopt(found)
        copy = _replaced(aim, box, option)
        if copy is None:
            others.add(found.name.removesuffix(".service"))
            where = f"{found.where} ({found.engine} on port {option.values['port']})"
            met.notes.append(f"{box}: {where} stays; it shares the box's memory and GPU; see `{found.shows}`")
        else:
            met.things.append(_engine(aim, copy, found, option, told))
    met.things += _listeners(aim, box, told, {thing.name for thing in met.things})
    met.things += _sleeping(aim, box, told, met)
    more, notes = starters(aim, box, told, met.things, others)
    met.things += more
    met.notes += notes
    met.notes += [
        f"{box}: {one['where']} leads to an engine here (`{one['line']}`): floor's copies ask for a key, so move who "
        "comes that way to floor's own port"
        for one in told.get("proxies", ())
    ]
    others_of = [one for one in told["processes"] if not one["engine"] and not own(one["owner"]["name"])]
    met.notes += [
        f"{box}: pid {one['pid']} of {one['user']} {what}; see `ps -fp {one['pid']}`"
        for one in others_of
        if (what := _takes(one))
    ]
    return met


def _replaced(aim: Aim, box: str, option: Option) -> Wanted | None:
    """The copy in whose place an engine runs: by its port, or by the name or the weights that it serves."""
    copies = [one for copy in aim.copies for one in copy.each() if one.box == box]
    port = option.values["port"]
    same = [copy for copy in copies if copy.resolved.port == port]
    same += [
        copy
        for copy in copies
        if option.served == copy.model
        or (option.values.get("source") and option.values["source"] == copy.resolved.source)
    ]
    return next(iter(same), None)


def _engine(aim: Aim, copy: Wanted, found: Found, option: Option, told: Mapping[str, Any]) -> Foreign:
    port = int(option.values["port"])
    process = next((one for one in told["processes"] if one["pid"] == found.pid), None)
    thing = keeper(copy.box, found.kind, found.name, process)
    why = f"it runs on port {port} in the place of {copy.backend}"
    return replace(
        thing,
        why=why,
        shows=found.shows,
        backend=copy.backend,
        port=port,
        running=True,
        apart=_apart(aim, copy, found, option),
        temporary=bool(found.container and found.container["auto_remove"]),
    )


def _apart(aim: Aim, copy: Wanted, found: Found, option: Option) -> str:
    """Why floor's proxies cannot send an engine requests until it is replaced; empty where they can."""
    if copy.grouped:
        return "a group takes its place"
    address, port = aim.addresses.get(copy.box), option.values["port"]
    if found.engine != copy.resolved.engine:
        return f"it speaks {found.engine}"
    if option.served != copy.model:
        return f"it serves {option.served}, not {copy.model}"
    if any(key in found.hidden for key in _KEYS):
        return "it asks for a key of its own"
    heard = [where for there, where in found.listens if there == port]
    if heard and not any(where in (*EVERYWHERE, address) for where in heard):
        return f"it listens on {heard[0]} alone"
    return ""


def _listeners(aim: Aim, box: str, told: Mapping[str, Any], known: set[str]) -> Iterator[Foreign]:
    """Who else holds a port that floor wants: for an engine, for a proxy, for the status port."""
    wanted = {
        part.resolved.port: (f"the port of {copy.backend}", copy.backend)
        for copy in aim.copies
        if (part := copy.on(box))
    }
    fronts: dict[int, tuple[str, str | None]] = {aim.config.boxes[box].status_port: ("the status port", None)}
    if box in aim.config.proxy.boxes:
        fronts |= {aim.config.listen(model): (f"the proxy's port of {model}", None) for model in aim.config.models}
    for one in told["processes"]:
        held = [port for port, _ in one["ports"] if port in {**wanted, **fronts}]
        name = one["owner"]["name"]
        if one["engine"] or not held or own(one["owner"]["name"]) or name in known:
            continue
        what, backend = {**fronts, **wanted}[held[0]]
        boxed = next((each for each in told["containers"] if held[0] in each["ports"].values()), None)
        kind, name = ("container", boxed["name"]) if boxed else (one["owner"]["kind"], name)
        if name in known:
            continue
        thing = keeper(box, kind, name, one)
        why = f"it holds port {held[0]}, {what}"
        yield replace(
            thing, why=why, port=held[0], backend=backend, running=True, apart="it is no engine", front=backend is None
        )


def _sleeping(aim: Aim, box: str, told: Mapping[str, Any], met: Met) -> Iterator[Foreign]:
    """Containers that do not run now, and that docker starts with its daemon."""
    for one in told["containers"]:
        if one["running"] or not one["engine"] or own(one["name"]) or one["policy"] not in ("always", "unless-stopped"):
            continue
        found = Found(box, "", "", one["engine"], (), tuple(one["argv"][one["at"] :]), "", one["env"], container=one)
        copy = _replaced(aim, box, adopt(found))
        why = f"docker starts it with its daemon (restart policy {one['policy']})"
        if copy:
            yield replace(keeper(box, "container", one["name"], None), why=f"{why}, in the place of {copy.backend}")
        else:
            met.notes.append(f"{box}: container {one['name']} stays; {why}; see `docker inspect {one['name']}`")


def _takes(one: Mapping[str, Any]) -> str:
    """What a process takes of what an engine needs."""
    size = f"{gib(one['memory'])} of memory"
    if one["gpu"]:
        return f"works on the GPU and holds {size}"
    return f"holds {size}" if one["memory"] >= LARGE else ""
