"""Which models a switch or a swap keeps away from everybody, and until when: the proxies say so to clients."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from floor.box import files, paths
from floor.box.locked import mine
from floor.errors import FloorError

SWAP = "swap"  # in place of a mode: another build


@dataclass(frozen=True)
class Away:
    """`until` is unix seconds by this box's clock, `mode` what is switched to, or SWAP, `epoch` the operation that says
    so."""

    epoch: int
    until: float
    mode: str


def words(mode: str) -> str:
    """Given what is switched to, or SWAP, return what keeps a model away, in words."""
    return "swap to another build" if mode == SWAP else f"switch to {mode}"


def read(root: Path = paths.ROOT) -> dict[str, Away]:
    """Return what was announced last, by model. Raise FloorError if the file cannot be understood."""
    place = paths.under(root, paths.AWAY)
    try:
        found: Mapping[str, Any] = json.loads(place.read_text())
        return {
            str(model): Away(int(one["epoch"]), float(one["until"]), str(one["mode"])) for model, one in found.items()
        }
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise FloorError(f"{place}: is no announcement ({error}); remove it, the next switch writes it anew") from error


def announce(models: Mapping[str, Away], root: Path = paths.ROOT) -> None:
    """Replace what was announced by `models`: a box is in one switch at a time."""
    text = json.dumps({model: asdict(one) for model, one in sorted(models.items())}, indent=1)
    files.write(paths.AWAY, f"{text}\n", owner=mine(), root=root)


def live(models: Mapping[str, Away], epoch: int | None) -> dict[str, Away]:
    """Given what was announced and the epoch of the operation that is live on this box (None: none is), return what
    counts now: an announcement ends with the lease of its operation."""
    return {model: one for model, one in models.items() if one.epoch == epoch}
