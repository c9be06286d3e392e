"""Where the weights of a model that was named by its repository lie on this machine: the cache of Hugging Face."""

from __future__ import annotations

import pwd
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from floor.box import paths

_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")
INSIDE = ("/root/.cache/huggingface", "/home/vllm/.cache/huggingface")


def snapshots(one: dict[str, Any], root: Path = paths.ROOT) -> dict[str, str]:
    """Given a process or a container, return for each repository that its command line names the folder on this machine
    that holds its weights; those that are not found are left out. The layout is huggingface_hub's:
    `hub/models--ORG--NAME/refs/main` holds the revision, `snapshots/REVISION` the files."""
    if not one["engine"]:
        return {}
    wanted = {word for word in one["argv"][one["at"] :] if _REPOSITORY.fullmatch(word)}
    found = {}
    for repository in sorted(wanted):
        for hub in _hubs(one):
            folder = hub / f"models--{repository.replace('/', '--')}"
            try:
                revision = paths.under(root, folder / "refs/main").read_text().strip()
            except OSError:
                continue
            place = folder / "snapshots" / revision
            if re.fullmatch(r"[0-9a-f]{40}", revision) and paths.under(root, place).is_dir():
                found[repository] = str(place)
                break
    return found


def _hubs(one: dict[str, Any]) -> Iterator[Path]:
    env = one["env"]
    named = env.get("HF_HUB_CACHE") or (f"{env['HF_HOME']}/hub" if env.get("HF_HOME") else None)
    if "mounts" in one:
        inside = [named] if named else [f"{place}/hub" for place in INSIDE]
        for place in inside:
            for mount in one["mounts"]:
                if place == mount["to"] or place.startswith(mount["to"].rstrip("/") + "/"):
                    yield Path(mount["from"] + place[len(mount["to"].rstrip("/")) :])
        return
    if named:
        yield Path(named)
        return
    try:
        yield Path(pwd.getpwnam(one["user"]).pw_dir) / ".cache/huggingface/hub"
    except KeyError:
        return
