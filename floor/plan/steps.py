"""Steps, and the plan that they make. A step is one call of one box's agent, perhaps repeated until it says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Late = Literal["fail", "go on", "kill"]


@dataclass(frozen=True)
class Until:
    """Repeat a call until `field` of its answer is `value`, for at most `deadline` seconds.

    `late` says what follows then: `fail` ends the operation, `go on` takes the next step, `kill` ends the unit's
    processes at once and waits on. `crashed` ends the wait early when the unit has failed or keeps dying. `advice` is
    what a person can do where it ends the operation.
    """

    field: str
    deadline: float
    value: object = True
    late: Late = "fail"
    crashed: bool = False
    advice: str = ""


@dataclass(frozen=True)
class Step:
    """One call of one box's agent. `text` says it in words, `why` gives the evidence that asks for it.

    `away` are the seconds for which the box may be out of reach because of this step; 0 for the usual patience. One
    that is `beside` the step before it in its lane does not wait for that.
    """

    box: str
    call: str
    params: Mapping[str, Any]
    text: str
    why: str = ""
    until: Until | None = None
    away: float = 0.0
    beside: bool = False


@dataclass(frozen=True)
class Stage:
    """Steps that belong together. Lanes run side by side, the steps of a lane one after the other.

    One that is `sure` has calls that prove what they did: the next stage of the same plan may follow it without a look.
    """

    title: str
    lanes: tuple[tuple[Step, ...], ...]
    outage: tuple[str, ...] = ()  # models that nobody serves while this stage runs
    sure: bool = False

    @property
    def steps(self) -> tuple[Step, ...]:
        return tuple(step for lane in self.lanes for step in lane)


@dataclass(frozen=True)
class Plan:
    """What would have to happen, in order, and what the person should know besides; `expected` tells of models that
    will be away how long, as floor.plan.outage counts it."""

    stages: tuple[Stage, ...] = ()
    notes: tuple[str, ...] = field(default=())
    expected: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.stages)

    @property
    def first(self) -> tuple[Stage, ...]:
        """The stages that run before the next look: the first one, and those that follow upon one that is sure."""
        last = next((at for at, stage in enumerate(self.stages) if not stage.sure), len(self.stages) - 1)
        return self.stages[: last + 1]

    @property
    def outage(self) -> tuple[str, ...]:
        """The models that will be away for a while."""
        return tuple(sorted({model for stage in self.stages for model in stage.outage}))


def beside(steps: Sequence[Step]) -> list[Step]:
    """Given steps that need not wait for each other, return them as those of a lane that run side by side."""
    return [replace(step, beside=number > 0) for number, step in enumerate(steps)]


def abreast(lane: Sequence[Step]) -> list[list[Step]]:
    """Given a lane, return its steps in the order in which they are carried out, those in one list side by side."""
    found: list[list[Step]] = []
    for step in lane:
        if step.beside and found:
            found[-1].append(step)
        else:
            found.append([step])
    return found


def stage(title: str, *lanes: tuple[Step, ...] | list[Step], outage: tuple[str, ...] = ()) -> list[Stage]:
    """Given lanes of which some may be empty, return one stage, or none where there is nothing to do."""
    full = tuple(tuple(lane) for lane in lanes if lane)
    return [Stage(title, full, outage)] if full else []


def sure(stages: list[Stage]) -> list[Stage]:
    """Given stages whose calls prove what they did, return them so that the next one follows without a look."""
    return [replace(each, sure=True) for each in stages]
