"""Who holds which backend out of the pool on this proxy box. A backend returns when no holder is left."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from floor.box import files, paths
from floor.box.locked import locked, mine
from floor.errors import FloorError

UNTESTED = "untested: "  # and a launch whose build has not passed the tool test, whose digest follows
ABSENCE = "absent: "  # what a holder begins with that is the absence of a box, whose name follows


@dataclass(frozen=True)
class Drain:
    """One holder of one backend. `epoch` is the operation that it belongs to, None for a person's `floor drain`.

    `at` is unix seconds, to show; nothing is decided by it.
    """

    holder: str
    epoch: int | None
    at: float


Drains = Mapping[str, tuple[Drain, ...]]


def is_absence(holder: str) -> bool:
    """Whether a backend is held because its box did not answer: the next deployment that sees the box ends it."""
    return holder.startswith(ABSENCE)


def is_untested(holder: str) -> bool:
    """Whether a backend is held because what runs there, or is to, has not passed the tool test."""
    return holder.startswith(UNTESTED)


def outlives(holder: str) -> bool:
    """Whether it is for what an operation found, and stays when that is over; a box that was away lays it itself."""
    return is_absence(holder) or is_untested(holder)


def read(root: Path = paths.ROOT) -> dict[str, tuple[Drain, ...]]:
    """Return every recorded drain by backend, lapsed ones too. Raise FloorError if the file cannot be understood."""
    place = paths.under(root, paths.DRAINS)
    try:
        text = place.read_text()
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise FloorError(f"{place}: cannot be read ({error}); repair or remove it, then `floor drain` again") from error
    return parse(text, str(place))


def parse(text: str, where: str) -> dict[str, tuple[Drain, ...]]:
    """Given the file's text and its name, return the drains by backend. Raise FloorError saying what is wrong."""
    try:
        document = json.loads(text)
        return {backend: tuple(_drain(entry) for entry in entries) for backend, entries in document.items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise FloorError(f"{where}: is not a list of drains ({error}); remove it, then `floor drain` again") from error


def live(drains: Drains, epoch: int | None) -> dict[str, tuple[Drain, ...]]:
    """Given drains and the epoch of the operation that is live on this box (None: none is), return those that count.

    A person's drain counts until it is undone; an operation's ends with its lease, so that nothing stays out for ever
    because a laptop was closed.
    """
    kept = {backend: tuple(d for d in held if d.epoch is None or d.epoch == epoch) for backend, held in drains.items()}
    return {backend: held for backend, held in kept.items() if held}


def held_by(drains: Drains) -> dict[str, tuple[str, ...]]:
    """Return the holders by backend in words: `ops@laptop deploy 12`, the number being the operation's epoch."""
    return {
        backend: tuple(d.holder if d.epoch is None else f"{d.holder} {d.epoch}" for d in held)
        for backend, held in drains.items()
    }


def add(
    backend: str,
    holder: str,
    epoch: int | None,
    *,
    at: float,
    root: Path = paths.ROOT,
    allow: Callable[[Drains], None] = lambda _drains: None,
) -> tuple[Drain, ...]:
    """Let `holder` take a backend out, once however often it is asked; return all its holders.

    What older operations held falls away: this box refuses a lower epoch, so they can never count again. `allow` is
    given the drains before, which nobody changes meanwhile; what it raises is passed on, and nothing changes.
    """

    def change(drains: dict[str, tuple[Drain, ...]]) -> None:
        allow(drains)
        if epoch is not None:
            for name, held in drains.items():
                drains[name] = tuple(d for d in held if d.epoch is None or d.epoch >= epoch)
        others = tuple(d for d in drains.get(backend, ()) if (d.holder, d.epoch) != (holder, epoch))
        drains[backend] = (*others, Drain(holder, epoch, at))

    return _change(change, root).get(backend, ())


def remove(backend: str, holder: str | None, epoch: int | None, *, root: Path = paths.ROOT) -> tuple[Drain, ...]:
    """Undo one holder's drain (None: everybody's of that kind) and return the holders that are left.

    With an `epoch` only that operation's drains go, without one only people's: undraining by hand does not undo what a
    running operation needs.
    """

    def change(drains: dict[str, tuple[Drain, ...]]) -> None:
        drains[backend] = tuple(
            d for d in drains.get(backend, ()) if d.epoch != epoch or (holder is not None and d.holder != holder)
        )

    return _change(change, root).get(backend, ())


def as_json(drains: Drains) -> dict[str, list[dict[str, Any]]]:
    """Return the drains as what the file holds and the status port shows."""
    return {backend: [asdict(drain) for drain in held] for backend, held in sorted(drains.items())}


def _change(change: Callable[[dict[str, tuple[Drain, ...]]], None], root: Path) -> dict[str, tuple[Drain, ...]]:
    with locked(paths.under(root, paths.DRAINS)):
        before = read(root)
        drains = dict(before)
        change(drains)
        after = {backend: held for backend, held in drains.items() if held}
        if after != before:
            files.write(paths.DRAINS, json.dumps(as_json(after), indent=1) + "\n", owner=mine(), root=root)
    return after


def _drain(entry: Mapping[str, Any]) -> Drain:
    holder, epoch, at = entry["holder"], entry["epoch"], entry["at"]
    if not isinstance(holder, str) or isinstance(epoch, bool) or not isinstance(epoch, int | None):
        raise TypeError(f"found {dict(entry)!r}")
    return Drain(holder, epoch, float(at))
