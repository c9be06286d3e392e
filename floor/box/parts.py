"""What a box knows of its part of a group, and tells the others: in which phase it is, and under which generation.

A group starts as one: its generation is one start of the head (systemd's InvocationID). Each part waits at a gate
before its rank starts (`floor.agent.gate`), and marks there in /run/floor/parts what it has joined. A mark names the
start of its own unit, so one that was left behind says nothing of a later start.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from floor.box import files, paths
from floor.box.locked import mine
from floor.box.units import UnitFacts
from floor.errors import FloorError

HEAD, WORKER = "head", "worker"


class Phase(StrEnum):
    """How far a part is. DOWN: no start of it is at its gate or beyond. STOPPING: it finishes what it has."""

    DOWN = "down"
    WAITING = "waiting"
    GOING = "going"
    RUNNING = "running"
    STOPPING = "stopping"


@dataclass(frozen=True)
class Mark:
    """What a gate has written, `at` which time of the monotonic clock: the start that it is of, whether it let that go,
    the generation that was joined (None: none yet), and what an earlier start left behind: process ids, or a container.

    `spared`: it was ended for another part's sake. `among`: the boxes of the other parts at that time. `leaves`: a
    deployment takes its group away, and changes who can be asked before that.
    """

    start: str
    going: bool
    generation: str | None
    left: tuple[int | str, ...] = ()
    at: float = 0.0
    spared: bool = False
    among: tuple[str, ...] = ()
    leaves: bool = False


@dataclass(frozen=True)
class Told:
    """One part at one moment, as its box tells. `start` is the InvocationID of its unit, empty while it is down."""

    part: str
    unit: str
    phase: Phase
    start: str = ""
    generation: str | None = None
    left: tuple[int | str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return it as the status port tells it."""
        return {
            "part": self.part,
            "unit": self.unit,
            "phase": str(self.phase),
            "start": self.start,
            "generation": self.generation,
            "left": list(self.left),
        }


def put(model: str, mark: Mark, root: Path = paths.ROOT) -> None:
    """Write the mark of a model's part. Raise FloorError if it cannot be written."""
    found = {**asdict(mark), "left": list(mark.left), "among": list(mark.among)}
    files.write(paths.PARTS / f"{model}.json", f"{json.dumps(found)}\n", owner=mine(), root=root)


def written(model: str, root: Path = paths.ROOT) -> int:
    """Return when the mark of a model's part was written, in nanoseconds of the file system; 0 where there is none."""
    try:
        return paths.under(root, paths.PARTS / f"{model}.json").stat().st_mtime_ns
    except OSError:
        return 0


def get(model: str, root: Path = paths.ROOT) -> Mark | None:
    """Return the mark of a model's part; what is no mark is none."""
    try:
        found = json.loads(paths.under(root, paths.PARTS / f"{model}.json").read_text())
        joined = found["generation"]
        return Mark(
            str(found["start"]),
            found["going"] is True,
            None if joined is None else str(joined),
            tuple(found["left"]),
            float(found["at"]),
            found["spared"] is True,
            tuple(str(box) for box in found.get("among") or ()),
            found.get("leaves") is True,
        )
    except (OSError, ValueError, TypeError, KeyError):
        return None


def told(part: str, unit: UnitFacts, mark: Mark | None) -> Told:
    """Given which part it is, what systemd says of its unit and its mark, return what is so."""
    own = mark if mark is not None and mark.start == unit.invocation else None
    phase = _phase(unit, own)
    if phase is Phase.DOWN:
        return Told(part, unit.name, phase)
    left = own.left if own is not None and phase is Phase.WAITING else ()
    return Told(part, unit.name, phase, unit.invocation, own.generation if own is not None else None, left)


def leaves(start: str, mark: Mark | None) -> bool:
    """Given a start of a part and its mark, return whether a deployment takes that away."""
    return mark is not None and mark.leaves and mark.start == start


def goes(unit: UnitFacts, mark: Mark | None) -> bool | None:
    """Given what systemd says of a part's unit and its mark, return whether a deployment takes it away.

    None where nobody can be told that: no rank of it was let start, so nothing is ended either, and its gate writes the
    mark anew.
    """
    begun = _phase(unit, mark) in (Phase.GOING, Phase.RUNNING)
    return mark.leaves if begun and mark is not None and mark.start == unit.invocation else None


def _phase(unit: UnitFacts, mark: Mark | None) -> Phase:
    if unit.active in ("active", "reloading", "refreshing"):
        return Phase.RUNNING
    if unit.active == "deactivating":
        return Phase.STOPPING
    # auto-restart is `activating` too, under the invocation that has ended.
    if unit.active != "activating" or mark is None or unit.sub.startswith("auto-restart"):
        return Phase.DOWN
    return Phase.GOING if mark.going else Phase.WAITING


def read(status: Mapping[str, Any], model: str) -> Told | None:
    """Given a box's status, return what it tells of its part of a model; None where it tells of none.

    Raise FloorError if it is not what a status port tells.
    """
    try:
        found = (status.get("groups") or {}).get(model)
        if found is None:
            return None
        generation = found["generation"]
        return Told(
            str(found["part"]),
            str(found["unit"]),
            Phase(found["phase"]),
            str(found["start"]),
            None if generation is None else str(generation),
            tuple(found["left"]),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise FloorError(f"group of {model}: what its box tells is no status ({error!r:.80})") from error
