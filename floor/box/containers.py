"""Containers of this box, as `docker inspect` tells of them. Docker is asked by argv and answers JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from floor.box.command import Result, Run, run
from floor.errors import FloorError


def of_unit(unit: str) -> str:
    """Given a unit's name, return the name that its container has: the same without `.service`."""
    return unit.removesuffix(".service")


def inspect(names: Iterable[str], run: Run = run) -> dict[str, dict[str, Any]]:
    """Given names of containers, return those that exist: {name: {id, image, reference, running, pid}}.

    `image` is the id of the image, `reference` what the container was started from. A box without docker has none.
    Raises FloorError when docker is there and does not answer: then nobody knows what runs.
    """
    wanted = list(names)
    if not wanted:
        return {}
    seen = _answer(run(["docker", "container", "inspect", "--", *wanted]), "container")
    return {one["Name"].lstrip("/"): _container(one) for one in seen}


def _container(one: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": one["Id"],
        "image": one["Image"],
        "reference": one["Config"]["Image"],
        "running": bool(one["State"]["Running"]),
        "pid": one["State"]["Pid"] or None,
    }


def images(references: Iterable[str], run: Run = run) -> dict[str, str | None]:
    """Given image references, return the id that each has on this box, None where it is not present."""
    found: dict[str, str | None] = {}
    for reference in references:
        seen = _answer(run(["docker", "image", "inspect", "--", reference]), "image")
        found[reference] = seen[0]["Id"] if seen else None
    return found


def _answer(result: Result, kind: str) -> list[dict[str, Any]]:
    """What exists of what was asked for. With some of it missing docker prints the rest all the same, and exits 1."""
    lines = [line for line in result.err.splitlines() if line.strip()]
    missing = [line for line in lines if f"no such {kind}" in line.lower() or "no such object" in line.lower()]
    if result.code is None:
        return []
    if result.code != 0 and (not missing or len(missing) != len(lines)):
        raise FloorError(f"docker does not answer: {result.said or result.code}; look at `systemctl status docker`")
    try:
        return list(json.loads(result.out or "[]"))
    except ValueError:
        raise FloorError(f"docker {kind} inspect answered no JSON: {result.out[:200]!r}") from None


def version(run: Run = run) -> str | None:
    """Return the version of the docker daemon, None where there is no docker. Raises FloorError when it is down."""
    result = run(["docker", "version", "--format", "{{.Server.Version}}"])
    if result.code is None:
        return None
    if not result.ok:
        raise FloorError(f"docker does not answer: {result.said}; look at `systemctl status docker`")
    return result.out.strip()


def remove(name: str, run: Run = run) -> None:
    """Remove a container by force. Raises FloorError when docker cannot."""
    result = run(["docker", "rm", "--force", "--", name])
    if result.code not in (None, 0) and "no such container" not in result.err.lower():
        raise FloorError(f"container {name}: cannot be removed: {result.said}")
