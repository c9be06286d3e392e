"""Copies that the guard keeps down: /var/lib/floor/holds.json. A start looks here, whoever asks for it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

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


def read(root: Path = paths.ROOT) -> dict[str, Hold]:
    """Return the holds by unit. Raise FloorError where the file cannot be read: nobody knows then what may start."""
    place = paths.under(root, paths.HOLDS)
    try:
        return {unit: Hold(**found) for unit, found in json.loads(place.read_text()).items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise FloorError(f"{place}: is no list of holds ({error!r:.80}); look at it, then remove it") from None


def put(hold: Hold, root: Path = paths.ROOT) -> None:
    """Given a hold, write it down in place of the unit's last one."""
    with locked(paths.under(root, paths.HOLDS)):
        try:
            known = read(root)
        except FloorError:
            known = {}  # a copy that must not start matters more than what was broken anyway
        _write({**known, hold.unit: hold}, root)


def drop(unit: str, root: Path = paths.ROOT) -> bool:
    """Given a unit, end its hold. Return whether there was one."""
    with locked(paths.under(root, paths.HOLDS)):
        known = read(root)
        if unit not in known:
            return False
        _write({name: hold for name, hold in known.items() if name != unit}, root)
        return True


def against(unit: str, launch: str, root: Path = paths.ROOT) -> Hold | None:
    """Given a unit and the digest that it would be started with, return the hold that forbids it, or None.

    `launch` empty: not known, so any hold counts.
    """
    hold = read(root).get(unit)
    return None if hold is None or (launch and hold.launch and launch != hold.launch) else hold


def _write(holds: dict[str, Hold], root: Path) -> None:
    text = json.dumps({unit: asdict(hold) for unit, hold in sorted(holds.items())}, indent=1) + "\n"
    files.write(paths.HOLDS, text, owner=mine(), root=root)
