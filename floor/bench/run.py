"""A run of levels that is kept in a file: what was measured is not measured again."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from floor.errors import FloorError, UsageError

from .knee import SICK
from .level import Level, from_json, to_json

VERSION = 1
FALLEN = 0.7  # two levels in a row below this part of the best one end the run: it does not come back


@dataclass(frozen=True)
class Run:
    """What is measured (`setting`: everything that makes two runs comparable) and what was measured so far."""

    setting: dict[str, Any]
    levels: tuple[Level, ...] = field(default_factory=tuple)


def stop(levels: Sequence[Level]) -> str:
    """Given the levels so far, return why no more are worth it; empty while they are."""
    if not levels:
        return ""
    if levels[-1].failing > SICK:
        return f"{levels[-1].failing:.0%} of the requests failed with {levels[-1].at:g} at once: {levels[-1].error}"
    best = max(level.rate for level in levels)
    if len(levels) > 2 and all(level.rate < FALLEN * best for level in levels[-2:]):
        return f"it gives {levels[-1].rate / best:.0%} of its best with {levels[-1].at:g} at once"
    return ""


def load(place: Path) -> Run:
    """Given a file that `save` wrote, return its run. Raise UsageError if it is none."""
    try:
        document = json.loads(place.read_text())
        if document["version"] != VERSION:
            raise UsageError(f"{place}: is of another version of floor; name another file")
        return Run(dict(document["setting"]), tuple(from_json(entry) for entry in document["levels"]))
    except OSError as error:
        raise UsageError(f"{place}: cannot be read ({error.strerror})") from error
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise UsageError(f"{place}: is no run of `floor bench`; name another file") from error


def save(place: Path, run: Run) -> None:
    """Write a run in one step: who interrupts it has what was measured before. Raise FloorError if that cannot be."""
    text = json.dumps(
        {"version": VERSION, "setting": run.setting, "levels": [to_json(one) for one in run.levels]}, indent=1
    )
    new = place.with_name(f".{place.name}.new")
    try:
        new.write_text(text + "\n")
        new.replace(place)
    except OSError as error:
        raise FloorError(f"{place}: cannot be written ({error.strerror}); name another file with --out") from error


def as_json(run: Run) -> dict[str, Any]:
    """A run as it is printed: its setting, and its levels."""
    return {**run.setting, "levels": [to_json(one) for one in run.levels]}


def former(place: Path, setting: dict[str, Any]) -> Run:
    """The run in a file to go on with, an empty one where there is none. That one is kept there: where it cannot be is
    known before anything is measured. Raise UsageError if it is another run's, FloorError if it cannot be kept."""
    if not place.exists():
        save(place, Run(setting))
    found = load(place)
    if not found.levels:
        return Run(setting)
    different = sorted(key for key in {*setting, *found.setting} if setting.get(key) != found.setting.get(key))
    if different:
        raise UsageError(f"{place}: holds a run with other {', '.join(different)}; name another file with --out")
    return found


def due(run: Run, wanted: Sequence[float]) -> float | None:
    """The level to measure next, fewest at once first; None where all are measured, or no more are worth it by those
    below: what happened above tells nothing of fewer."""
    known = {level.at for level in run.levels}
    at = min((at for at in wanted if at not in known), default=None)
    return None if at is None or stop([level for level in run.levels if level.at < at]) else at


def grown(run: Run, level: Level) -> Run:
    """The run with one level more."""
    return Run(run.setting, tuple(sorted((*run.levels, level), key=lambda one: one.at)))


async def sweep(
    run: Run,
    wanted: Sequence[float],
    measure: Callable[[float], Awaitable[Level]],
    done: Callable[[Run], None],
) -> tuple[Run, str]:
    """Measure the levels that are wanted and missing; `done` is told after each. Return the run and why it stopped
    early, empty where it did not."""
    while (at := due(run, wanted)) is not None:
        run = grown(run, await measure(at))
        done(run)
    return run, stop(run.levels)
