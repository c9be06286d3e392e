"""Copies that the guard keeps down: /var/lib/floor/holds.json, and in /run what is not there yet. A start looks here,
whoever asks for it."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from floor.box import files, paths
from floor.box.locked import locked, mine
from floor.errors import FloorError


@dataclass(frozen=True)
class Hold:
    """Why a copy is kept down. `launch` is the digest that it was started with: another one is another engine.

    `at` is unix seconds, `needs` the bytes that it wants to start with (None: not known); `lasting`: only a person lets
    it go.
    """

    unit: str
    reason: str
    launch: str
    at: float
    needs: int | None = None
    lasting: bool = False

    @property
    def words(self) -> str:
        """The reason, and what ends the hold."""
        ends = "`floor guard release` or another launch"
        ends = ends if self.lasting else f"there is room for it again, {ends}"
        return f"the guard keeps it down, until {ends}: {self.reason}"

    def forbids(self, launch: str) -> bool:
        """Given the digest that the unit would be started with (empty: not known), say whether it must not be."""
        return not (launch and self.launch and launch != self.launch)


def read(root: Path = paths.ROOT) -> dict[str, Hold]:
    """Return the holds by unit. Raise FloorError where a file cannot be read: nobody knows then what may start."""
    return {**_read(paths.HOLDS, root), **_read(paths.HOLDS_NEW, root)}


def put(hold: Hold, root: Path = paths.ROOT) -> None:
    """Given a hold, write it down in place of the unit's last one.

    Into memory first: a disk may hang or be full, and the unit is started again within seconds. Raise FloorError where
    it stays there alone, which is until the next boot, or is nowhere.
    """
    lasts = "is kept down until the next boot alone"
    try:
        _put(paths.HOLDS_NEW, hold, root)
    except FloorError:
        lasts = "may start again"
    try:
        _put(paths.HOLDS, hold, root)
    except FloorError as error:
        raise FloorError(f"{hold.unit} {lasts}: {error}") from None
    _drop(paths.HOLDS_NEW, hold.unit, root)


def drop(unit: str, root: Path = paths.ROOT) -> bool:
    """Given a unit, end its hold. Return whether there was one."""
    gone = [_drop(path, unit, root) for path in (paths.HOLDS_NEW, paths.HOLDS)]
    return any(gone)


def against(unit: str, launch: str, root: Path = paths.ROOT) -> Hold | None:
    """Given a unit and the digest that it would be started with, return the hold that forbids it, or None.

    `launch` empty: not known, so any hold counts.
    """
    hold = _read(paths.HOLDS_NEW, root).get(unit) or _read(paths.HOLDS, root).get(unit)
    return hold if hold is not None and hold.forbids(launch) else None


def installed(unit: str, root: Path = paths.ROOT) -> str:
    """Given a unit, return the digest that its file would start it with, empty where there is none."""
    try:
        text = paths.under(root, paths.UNITS / unit).read_text(errors="replace")
    except OSError:
        return ""
    found = re.search(r"^Environment=FLOOR_LAUNCH=([0-9a-f]+)$", text, re.MULTILINE)
    return found[1] if found else ""


def told(root: Path = paths.ROOT) -> dict[str, dict[str, Any]]:
    """Return the holds by unit as JSON, each with the digest `installed`. A list that is broken tells none: a start
    says what is wrong with it."""
    try:
        return {unit: {**asdict(hold), "installed": installed(unit, root)} for unit, hold in read(root).items()}
    except FloorError:
        return {}


def _read(path: Path, root: Path) -> dict[str, Hold]:
    place = paths.under(root, path)
    try:
        return {unit: Hold(**found) for unit, found in json.loads(place.read_text()).items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise FloorError(f"{place}: is no list of holds ({error!r:.80}); look at it, then remove it") from None


def _put(path: Path, hold: Hold, root: Path) -> None:
    with locked(paths.under(root, path)):
        try:
            known = _read(path, root)
        except FloorError:
            known = {}  # a copy that must not start matters more than what was broken anyway
        _write(path, {**known, hold.unit: hold}, root)


def _drop(path: Path, unit: str, root: Path) -> bool:
    if not paths.under(root, path).exists():
        return False
    with locked(paths.under(root, path)):
        known = _read(path, root)
        if unit not in known:
            return False
        _write(path, {name: hold for name, hold in known.items() if name != unit}, root)
        return True


def _write(path: Path, holds: dict[str, Hold], root: Path) -> None:
    text = json.dumps({unit: asdict(hold) for unit, hold in sorted(holds.items())}, indent=1) + "\n"
    files.write(path, text, owner=mine(), root=root)
