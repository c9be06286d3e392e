"""Engines that were found, one value each, whichever way they were started."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

_PLAIN_HOSTS = ("", "0.0.0.0", "::", "127.0.0.1", "localhost", "::1")  # noqa: S104 -- compared, not listened on


@dataclass(frozen=True)
class Found:
    """An engine that runs on a box.

    `before` are the words up to `serve`, `words` those behind it, `shows` the command that shows it, `hidden` what was
    left out of both because it is a secret. `container` is what docker tells of its container, None without one. `kind`
    and `name` tell who keeps it: container, unit, user-unit or session. `listens` are ports of the box and addresses.
    """

    box: str
    where: str
    shows: str
    engine: str
    before: tuple[str, ...]
    words: tuple[str, ...]
    user: str
    env: Mapping[str, str]
    hidden: tuple[str, ...] = ()
    container: Mapping[str, Any] | None = None
    snapshots: Mapping[str, str] = field(default_factory=dict)
    kind: str = ""
    name: str = ""
    pid: int | None = None
    listens: tuple[tuple[int, str], ...] = ()


def engines(box: str, told: Mapping[str, Any]) -> list[Found]:
    """Given a box and what `floor.box.foreign.look` told of it, return its engines: containers, units, processes.

    A container that runs its engine behind a shell is told by the process that is in it.
    """
    containers = {one["name"]: one for one in told["containers"] if not own(one["name"])}
    found, seen = [], set()
    for process in told["processes"]:
        if not process["engine"] or own(process["owner"]["name"]):
            continue
        boxed = containers.get(process["owner"]["name"]) if process["owner"]["kind"] == "container" else None
        if boxed:
            if boxed["name"] in seen:
                continue
            seen.add(boxed["name"])
        found.append(_of(box, boxed if boxed and boxed["engine"] else process, process, boxed))
    found += [
        _of(box, one, None, one)
        for one in containers.values()
        if one["engine"] and one["name"] not in seen and one["running"]
    ]
    return found


def own(name: str) -> bool:
    """Given the name of a unit or a container, return whether it is floor's own: a copy, a service, a trial."""
    return name.startswith("floor-") or name == "floor.target"


def _of(box: str, told: Mapping[str, Any], process: Mapping[str, Any] | None, boxed: Mapping[str, Any] | None) -> Found:
    at = int(told["at"])
    before = tuple(word for word in told["argv"][:at] if word != "serve")
    env = boxed["env"] if boxed else told["env"]
    hidden = [*told["hidden"], *(boxed or told)["env_hidden"]]
    where, shows = _place(process, boxed)
    return Found(
        box=box,
        where=where,
        shows=shows,
        engine=told["engine"],
        before=_program(before, in_container=boxed is not None),
        words=tuple(told["argv"][at:]),
        user=(process or {}).get("user", ""),
        env=dict(env),
        hidden=tuple(dict.fromkeys(hidden)),
        container=boxed,
        snapshots=told.get("snapshots") or {},
        kind="container" if boxed else process["owner"]["kind"] if process else "",
        name=boxed["name"] if boxed else process["owner"]["name"] if process else "",
        pid=process["pid"] if process else None,
        # a process in a network of its own has no port of the box: docker listens for it
        listens=tuple(
            (port, address) for port, address in (process or {}).get("ports") or (boxed or {}).get("listens", ())
        ),
    )


def _program(before: tuple[str, ...], *, in_container: bool) -> tuple[str, ...]:
    """The words before `serve` as a person writes them: without the interpreter of the script `vllm`."""
    if len(before) == 2 and PurePosixPath(before[1]).name in ("vllm", "llama-server", "ollama"):
        before = before[1:]
    if before and before[-1] == "vllm.entrypoints.openai.api_server":
        return () if in_container else (*before[:-1], "vllm.entrypoints.cli.main")
    return before


def _place(process: Mapping[str, Any] | None, boxed: Mapping[str, Any] | None) -> tuple[str, str]:
    if boxed:
        return f"container {boxed['name']}", f"docker inspect {boxed['name']}"
    if process is None:
        return "", ""
    owner = process["owner"]
    if owner["kind"] == "unit":
        return f"unit {owner['name']}", f"systemctl cat {owner['name']}"
    if owner["kind"] == "user-unit":
        return (
            f"unit {owner['name']} of user {process['user']}",
            f"systemctl --user cat {owner['name']} (as {process['user']})",
        )
    return f"process {process['pid']} of {process['user']} ({owner['name']})", f"ps -fp {process['pid']}"


def hosts(found: Found) -> Iterator[str]:
    """The addresses that an engine was told to listen on, where they name one of its box."""
    words = list(found.words)
    for place, word in enumerate(words):
        value = (
            word.partition("=")[2]
            if word.startswith("--host=")
            else words[place + 1]
            if word == "--host" and place + 1 < len(words)
            else ""
        )
        if value not in _PLAIN_HOSTS:
            yield value
