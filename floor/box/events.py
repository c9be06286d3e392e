"""What was done on this box and why: one JSON line each, for people. No decision reads it."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from floor.box import files, paths
from floor.box.locked import locked, mine
from floor.errors import FloorError

LIMIT = 4 * 1024 * 1024  # bytes; beyond it the older half goes. About 15,000 events, months of a box that is not well
TAIL = 64 * 1024  # bytes of it in which the newest are looked for


def append(
    who: str,
    text: str,
    data: Mapping[str, Any] | None = None,
    *,
    at: float,
    box: str | None = None,
    root: Path = paths.ROOT,
    limit: int = LIMIT,
) -> None:
    """Given who did it, what was done in words, facts with it and unix seconds, add one line and keep the file bounded.

    `box` is this box's name, its host name by default. Raise FloorError if it cannot be written.
    """
    place = paths.under(root, paths.EVENTS)
    event = {"at": round(at, 3), "box": box or os.uname().nodename, "who": who, "text": text, "data": dict(data or {})}
    line = (json.dumps(event, ensure_ascii=False, default=str) + "\n").encode("utf-8", "replace")
    with locked(place):
        try:
            with place.open("a+b") as file:
                # What a power cut or a full disk left without an end would take this one with it.
                file.write(line if _ended(file) else b"\n" + line)
                size = file.tell()
        except OSError as error:
            raise FloorError(f"{place}: cannot be written ({error.strerror}); an event was lost: {text}") from error
        if size > limit:
            kept = place.read_bytes()[-limit // 2 :]
            files.write(paths.EVENTS, kept[kept.find(b"\n") + 1 :], owner=mine(), root=root)


def _ended(file: BinaryIO) -> bool:
    if file.seek(0, os.SEEK_END) == 0:
        return True
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"


def read(lines: int, root: Path = paths.ROOT) -> list[dict[str, Any]]:
    """Return the newest `lines` events, the oldest of them first; what a crash left of a line is left out."""
    place = paths.under(root, paths.EVENTS)
    try:
        found = place.read_bytes().splitlines() if lines > 0 else []
    except FileNotFoundError:
        return []
    except OSError as error:
        raise FloorError(f"{place}: cannot be read ({error.strerror}); the agent reads it as root") from error
    return _last(found, lines)


def newest(lines: int, root: Path = paths.ROOT) -> list[dict[str, Any]]:
    """Return the newest `lines` events as `read` does, from the last `TAIL` bytes alone: for who looks every second."""
    place = paths.under(root, paths.EVENTS)
    try:
        with place.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - TAIL))
            found = file.read().splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise FloorError(f"{place}: cannot be read ({error.strerror})") from error
    whole = found[1:] if size > TAIL else found
    return _last(whole, lines)


def _last(found: Sequence[bytes], lines: int) -> list[dict[str, Any]]:
    """The last so many that are events, however many lines among them are none."""
    events: list[dict[str, Any]] = []
    for line in reversed(found):
        if len(events) >= lines:
            break
        if (event := _event(line)) is not None:
            events.append(event)
    return events[::-1]


def _event(line: bytes) -> dict[str, Any] | None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict):
        return None
    at = event.get("at")
    return event if isinstance(at, int | float) and not isinstance(at, bool) and math.isfinite(at) else None
