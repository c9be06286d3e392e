"""The `runtime` that starts an engine as it was found: its container's image and options, or its program and user."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from floor.config.adopt.found import Found
from floor.config.models import IMAGE
from floor.engines.known import ENGINES

# what floor gives each container anyway
_GIVEN = re.compile(r"--ulimit=memlock=-1:-1|--cap-drop=ALL$")


def runtime(found: Found, source: str) -> tuple[dict[str, Any], list[str]]:
    """Given an engine and the folder of its weights, return the runtime that starts it so, and what would be lost."""
    return _docker(found, found.container, source) if found.container else _native(found)


def _native(found: Found) -> tuple[dict[str, Any], list[str]]:
    lost = []
    made: dict[str, Any] = {
        "kind": "native",
        "command": list(found.before) if len(found.before) != 1 else found.before[0],
    }
    if not found.before or not found.before[0].startswith("/"):
        lost.append(
            f"its program was not found ({' '.join(found.before) or 'nothing'}): write `command` with its whole path"
        )
    if found.user:
        made["user"] = found.user
    return made, lost


def _docker(found: Found, boxed: Mapping[str, Any], source: str) -> tuple[dict[str, Any], list[str]]:
    lost = []
    image = boxed["digest"] or boxed["image"]
    if not re.fullmatch(IMAGE, image):
        lost.append(f"image {image}: give it a name of its own (docker tag)")
    made: dict[str, Any] = {"kind": "docker", "image": image, "gpus": boxed["gpus"] or "none"}
    if found.before and found.before != ENGINES[found.engine].entrypoint:
        made["entrypoint"] = list(found.before)
    lies = [place for place in found.snapshots.values() if place == source]
    # the files of a snapshot are links to those beside it, which must be seen as well
    volumes = [f"{folder}:{folder}:ro" for place in lies if (folder := place.rpartition("/snapshots/")[0])]
    volumes += [volume for mount in boxed["mounts"] if (volume := _volume(mount, source, lost))]
    if volumes:
        made["volumes"] = volumes
    options = [option for option in boxed["options"] if not _GIVEN.match(option)]
    if boxed["user"]:
        options.append(f"--user={boxed['user']}")
    if options:
        made["options"] = options
    if boxed["network"] not in ("host", "default", "bridge", ""):
        lost.append(f"its network {boxed['network']}: floor gives engines the box's own network")
    return made, lost


def _volume(mount: Mapping[str, Any], source: str, lost: list[str]) -> str | None:
    there, inside = mount["from"], mount["to"]
    if not there or ":" in there + inside:
        lost.append(f"its mount on {inside} is no folder of the box")
        return None
    if mount["name"]:
        lost.append(f"docker's volume {mount['name']} on {inside} is mounted by its place on the box, {there}")
    if there == inside == source:
        return None  # floor mounts the weights itself
    return f"{there}:{inside}" + ("" if mount["write"] else ":ro")
