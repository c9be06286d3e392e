"""Asks the status ports of other boxes, one after the other: few, and rarely."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from floor.box import secrets
from floor.box.status_ask import Get, get
from floor.errors import FloorError


def statuses(urls: Sequence[str], root: Path, get: Get = get) -> list[Mapping[str, Any]]:
    """Given the addresses of status ports and the root of all paths, return what those tell that answer."""
    found: list[Mapping[str, Any]] = []
    try:
        keys = secrets.accepted("status", root)
    except FloorError:  # then nobody can be asked, and this box tells itself
        keys = []
    for url in urls:
        for key in keys:
            try:
                answer = json.loads(get(url, key))
            except (OSError, ValueError):  # a box that is down; or a key that is being replaced
                continue
            if isinstance(answer, dict):
                found.append(answer)
            break
    return found
