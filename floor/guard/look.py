"""Who the engines of this box are and what they hold, as systemd, docker and the driver tell. Each may hang."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from floor.box import containers, gpu, groups, paths, processes, units
from floor.box.command import Result, Run, run
from floor.box.units import UnitFacts
from floor.errors import FloorError

from .sample import Engine
from .settings import Copy, Settings

LAUNCH = "FLOOR_LAUNCH"
BEFORE = ("condition", "start-pre", "auto-restart")  # states of a unit in which its engine has not begun
PATIENCE = 10.0  # seconds: nobody waits for the answer, and what comes later is old


@dataclass(frozen=True)
class Found:
    """What was found by a look that began at `asked` (monotonic clock).

    By unit: what systemd said, the control groups of it and its container, the engines that had processes, the launch
    of each, and the control group of its container alone. `wrong` says why docker told nothing of the containers, which
    are those of the look before.
    """

    asked: float = float("-inf")
    facts: Mapping[str, UnitFacts] = field(default_factory=dict)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    cards: gpu.Cards = field(default_factory=gpu.Cards)
    engines: Mapping[str, Engine] = field(default_factory=dict)
    launches: Mapping[str, str] = field(default_factory=dict)
    boxed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    wrong: str = ""


def soon(argv: Sequence[str]) -> Result:
    """Run a program as `command.run` does, for a while at most."""
    return run(argv, timeout=PATIENCE)


def show_soon(argv: Sequence[str], _timeout: float) -> str:
    """Ask systemd as `units.run_show` does, for a while at most."""
    return units.run_show(argv, PATIENCE)


def look(
    settings: Settings, root: Path, clock: Callable[[], float], show: units.Run, run: Run, nvml: Any, before: Found
) -> Found:
    """Given the settings, the root of all paths, a monotonic clock, who is asked and what was found before, return what
    is so.

    Raise FloorError where systemd does not answer. Without docker's answer the rest holds all the same.
    """
    asked = clock()
    facts = units.show([copy.unit for copy in settings.copies], show)
    boxed, wrong = before.boxed, ""
    try:
        boxed = _containers(settings, root, run)
    except FloorError as error:
        wrong = str(error)
    cards = gpu.read(nvml)
    own = {
        copy.unit: (facts[copy.unit].cgroup or groups.of_unit(copy.unit), *boxed.get(copy.unit, ()))
        for copy in settings.copies
    }
    engines, launches = {}, {}
    for copy in settings.copies:
        unit, pids = facts[copy.unit], members(own[copy.unit], root)
        if pids:
            held = _held(copy, own[copy.unit], pids, cards, root)
            launches[copy.unit] = launch(own[copy.unit], root)
            # A container outlives its client, and with it what it holds.
            waits = unit.sub.startswith(BEFORE) and not members(boxed.get(copy.unit, ()), root)
            engines[copy.unit] = Engine(copy.unit, unit.active == "activating", held, unit.started or 0.0, waits)
    return Found(asked, facts, own, cards, engines, launches, boxed, wrong)


def members(own: Sequence[str], root: Path) -> list[int]:
    """Given control groups, return the processes that are in them now."""
    return [pid for group in own for pid in processes.in_cgroup(group, root)]


def launch(own: Sequence[str], root: Path = paths.ROOT) -> str:
    """Given the control groups of an engine, return the digest that it was started with, empty where no process tells.

    The unit gives it to all that it starts, docker's client too.
    """
    proc = paths.under(root, processes.PROC)
    told = (processes.environ(pid, [LAUNCH], proc).get(LAUNCH, "") for pid in members(own, root))
    return next((digest for digest in told if digest), "")


def _containers(settings: Settings, root: Path, run: Run) -> dict[str, tuple[str, ...]]:
    """The control groups of the containers of copies, by unit."""
    names = {containers.of_unit(copy.unit): copy.unit for copy in settings.copies if copy.docker}
    found = containers.inspect(names, run)
    return {
        names[name]: (group,)
        for name, one in found.items()
        if one["pid"] and (group := groups.of_process(one["pid"], root))
    }


def _held(copy: Copy, own: Sequence[str], pids: Sequence[int], cards: gpu.Cards, root: Path) -> int | None:
    """What an engine holds of the box's memory; None where it has a card and the driver does not tell."""
    known = [size for group in own if (size := groups.memory(group, root)) is not None]
    # Where groups do not account for memory (version 1), its processes do.
    proc = paths.under(root, processes.PROC)
    beside = sum(known) if known else sum(processes.resident(pid, proc) for pid in pids) or None
    if not copy.card or cards.shared is False:
        return beside
    on_card = [cards.used[pid] for pid in pids if pid in cards.used]
    return (beside or 0) + sum(on_card) if on_card else None
