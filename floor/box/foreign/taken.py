"""The record of what was taken over on this box: what it was before, so that it can be put back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from floor.box import files, paths
from floor.box.locked import mine
from floor.errors import FloorError


def read(root: Path = paths.ROOT) -> list[dict[str, Any]]:
    """Return what was taken over, in that order: {kind, name, at, was}. Raises FloorError for a record somebody
    broke."""
    place = paths.under(root, paths.TAKEN_OVER)
    try:
        return list(json.loads(place.read_text())["taken"])
    except FileNotFoundError:
        return []
    except (ValueError, KeyError, TypeError):
        raise FloorError(f"{paths.TAKEN_OVER}: cannot be read; look at it, put it right or move it away") from None


def add(thing: Mapping[str, Any], was: Mapping[str, Any], at: float, root: Path = paths.ROOT) -> None:
    """Given a thing and what it was, keep it; what was kept at first stays, a second time adds nothing."""
    known = read(root)
    if not any(same(one, thing) for one in known):
        entry = {"kind": thing["kind"], "name": thing["name"], "key": thing.get("key"), "at": at, "was": dict(was)}
        _write([*known, entry], root)


def forget(gone: Mapping[str, Any], root: Path = paths.ROOT) -> None:
    """Given an entry that has been put back, take it out of the record."""
    left = [one for one in read(root) if one != gone]
    if left:
        _write(left, root)
    else:
        paths.under(root, paths.TAKEN_OVER).unlink(missing_ok=True)


def same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two of them are the same thing; `key` tells lines of a file and runs of a process apart."""
    return all(one.get(word) == other.get(word) for word in ("kind", "name", "key"))


def _write(entries: list[dict[str, Any]], root: Path) -> None:
    text = json.dumps({"taken": entries}, indent=1) + "\n"
    files.write(paths.TAKEN_OVER, text, mode=0o600, owner=mine(), root=root)
