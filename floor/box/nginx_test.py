"""Asks nginx whether a configuration is right before any of it lies where the running nginx would read it."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from floor.box import clients, paths
from floor.box.command import Run, run
from floor.box.secrets import texts
from floor.errors import UsageError

# Every path of floor's that a configuration may name; longest first where one begins with another.
OURS = re.compile(r"/(?:etc|run|var/lib|var/cache|var/log)/floor(?=[/\s;\"']|$)[^\s;\"']*")
SAMPLE_KEY = "staged-instead-of-the-real-key"


def staged(files: Iterable[Mapping[str, Any]], members: str, run: Run = run) -> dict[str, Any]:
    """Given files as {"path", "text"} and the text of members.conf, return {"ok", "output"} of `nginx -t` on a copy.

    The copy lies in a folder of its own under which every path of floor's is rewritten, sockets, pid and temporary
    folders too: `nginx -t` follows absolute includes and makes and chowns the folders that it finds named.
    """
    wanted = {file["path"]: file["text"] for file in files if Path(file["path"]).is_relative_to(paths.NGINX)}
    if str(paths.NGINX_CONF) not in wanted:
        raise UsageError(f"nginx.test: {paths.NGINX_CONF} is not among the files")
    # A short name: a unix socket's path holds 107 bytes at most.
    with tempfile.TemporaryDirectory(prefix="fl-", dir="/tmp") as folder:
        stage = Path(folder)
        for path, text in {**_surroundings(members), **wanted}.items():
            place = paths.under(stage, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(moved(text, stage))
        main = paths.under(stage, paths.NGINX_CONF)
        result = run(["nginx", "-t", "-q", "-p", str(main.parent), "-c", str(main), "-e", "stderr"])
        if result.code is None:
            return {"ok": False, "output": "nginx is not installed on this box; run floor setup"}
        return {"ok": result.ok, "output": result.said.replace(str(stage), "")}


def _surroundings(members: str) -> dict[str, str]:
    every = {**texts(SAMPLE_KEY, SAMPLE_KEY), **clients.texts({"sample": [SAMPLE_KEY]})}
    keys = {str(path): text for path, text in every.items() if text is not None}
    return {**keys, str(paths.MEMBERS): members}


def moved(text: str, stage: Path) -> str:
    """Given a configuration, return it with every path of floor's below `stage`, and make the folders they lie in."""

    def move(found: re.Match[str]) -> str:
        place = paths.under(stage, found[0])
        place.parent.mkdir(parents=True, exist_ok=True)
        return str(place)

    return OURS.sub(move, text)
