"""What the guard keeps over reboots: readings of others, what starts have logged, and when it took whom down."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from floor.box import files, paths
from floor.box.locked import mine
from floor.engines.log import Start

from . import history
from .history import History

DAY = 86400.0


@dataclass(frozen=True)
class Logged:
    """What the last start of a copy told, with the share and the launch digest that it was started with."""

    launch: str
    utilization: float | None
    start: Start


@dataclass
class Records:
    """`kills` are unix times by unit, of the last day."""

    history: History = field(default_factory=History)
    starts: dict[str, Logged] = field(default_factory=dict)
    kills: dict[str, list[float]] = field(default_factory=dict)

    def killed(self, unit: str, unix: float) -> list[float]:
        """Given a unit that was taken down and when, keep and return all times of the last day."""
        kept = [at for at in self.kills.get(unit, ()) if 0 <= unix - at < DAY]
        self.kills[unit] = [*kept, unix]
        return self.kills[unit]

    def text(self) -> str:
        """Return them as the content of their file."""
        document = {
            "others": history.as_json(self.history),
            "starts": {unit: asdict(one) for unit, one in self.starts.items()},
            "kills": self.kills,
        }
        return json.dumps(document) + "\n"


def write(text: str, root: Path = paths.ROOT) -> None:
    """Given what `Records.text` returned, write it down. Raise FloorError if it cannot be."""
    files.write(paths.GUARD_HISTORY, text, owner=mine(), root=root)


def read(root: Path = paths.ROOT) -> tuple[Records, str]:
    """Return the records, and what is wrong with their file (empty: nothing). One that is broken begins anew."""
    place = paths.under(root, paths.GUARD_HISTORY)
    try:
        return parse(json.loads(place.read_text())), ""
    except FileNotFoundError:
        return Records(), ""
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return Records(), f"{place}: cannot be read ({error!r:.80}); its history begins anew"


def parse(found: Mapping[str, Any]) -> Records:
    """Given the content of the file, return the records. Raise ValueError, KeyError or TypeError for something else."""
    return Records(
        history=history.from_json(found["others"]),
        starts={
            str(unit): Logged(one["launch"], one["utilization"], Start.of(one["start"]))
            for unit, one in found["starts"].items()
        },
        kills={str(unit): [float(at) for at in times] for unit, times in found["kills"].items()},
    )
