"""What the watchdog remembers of a copy from one run to the next. Pure; times are the box's monotonic clock."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from floor.healthcheck.load import Load
from floor.healthcheck.verdict import Level

from .seen import Seen
from .symptom import symptom

GAP = 150.0  # seconds between two looks beyond which what lay between is unknown, and a run of bad looks begins anew
WELL = 600.0  # seconds of working after which earlier acts no longer count as a streak


@dataclass(frozen=True)
class Memory:
    """One copy's past within this boot.

    `load` and `looked` are those of the last look. `ill` is the start of the unbroken run of looks without work or
    answer, `symptom` its present form, `looks` how many in a row had that, since `same`. `acts` are the times at which
    the watchdog started or restarted it, `streak` how many of them since it last worked for a while. `well` is the
    start of the unbroken run of good looks. `given_up` says why nothing more is tried, `clears` is how many times in a
    row what outlived the unit was ended and did not go.
    """

    epoch: int = 0
    invocation: str = ""
    load: Load | None = None
    looked: float | None = None
    ill: float | None = None
    symptom: str = ""
    same: float | None = None
    looks: int = 0
    acts: tuple[float, ...] = ()
    streak: int = 0
    well: float | None = None
    given_up: str = ""
    clears: int = 0


def remember(memory: Memory, seen: Seen, epoch: int) -> Memory:
    """Given the memory, what is seen now and the epoch of the last operation, return the memory with it.

    An operation is somebody's decision: what was tried before no longer counts. A new life of the engine, and a gap
    between two looks, begin their own run.
    """
    if epoch != memory.epoch:
        memory = Memory(epoch=epoch)
    again = seen.unit.invocation != memory.invocation
    cut = again or (memory.looked is not None and seen.at - memory.looked > GAP)
    # Neither we nor systemd start what was given up: somebody did.
    freed = again and memory.given_up != ""
    before = None if cut else memory.load
    moves = seen.verdict is not None and (seen.verdict.level is Level.GENERATES or goes_on(before, seen.load))
    found = None if moves else symptom(seen)
    same = found is not None and not cut and memory.symptom == found
    well = None if not moves else seen.at if cut or memory.well is None else memory.well
    long = well is not None and seen.at - well >= WELL
    return Memory(
        epoch=memory.epoch,
        invocation=seen.unit.invocation,
        load=None if seen.verdict is None else seen.load or before,
        looked=seen.at,
        ill=None if found is None else seen.at if cut or memory.ill is None else memory.ill,
        symptom=found or "",
        same=None if found is None else memory.same if same else seen.at,
        looks=0 if found is None else memory.looks + 1 if same else 1,
        acts=tuple(at for at in memory.acts if seen.at - at < 3600.0),
        streak=0 if long or freed else memory.streak,
        well=well,
        given_up="" if long or freed else memory.given_up,
        clears=memory.clears if seen.left else 0,
    )


def acted(memory: Memory, at: float) -> Memory:
    """Given the time of an act, return the memory with it."""
    return replace(memory, acts=(*memory.acts, at), streak=memory.streak + 1, ill=None, symptom="", same=None, looks=0)


def goes_on(before: Load | None, now: Load | None) -> bool:
    """Whether work went on between two looks: a counter of any kind changed, or requests left.

    Each engine fills in what it has. llama.cpp's token counters stand still while a slot is busy, its steps do not.
    New arrivals alone show nothing.
    """
    if before is None or now is None:
        return False
    pairs = zip(_work(before), _work(now), strict=True)
    if any(one != other and one is not None and other is not None for one, other in pairs):
        return True
    return before.in_flight is not None and now.in_flight is not None and now.in_flight < before.in_flight


def _work(load: Load) -> tuple[float | None, ...]:
    return load.generated, load.prompted, load.steps, load.finished, load.usage, load.started


def as_json(memory: Memory) -> dict[str, Any]:
    """Return the memory as what `json.dumps` takes."""
    return asdict(memory)


def from_json(found: dict[str, Any]) -> Memory:
    """Given what `as_json` returned, return the memory. Raise TypeError or ValueError for something else."""
    known = {field.name for field in fields(Memory)}
    load = found.get("load")
    kept = {key: value for key, value in found.items() if key in known}
    return Memory(**{**kept, "load": Load(**load) if load else None, "acts": tuple(map(float, found.get("acts", ())))})
