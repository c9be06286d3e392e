"""Looks at this box once: systemd in one call, docker, processes, the operation record, and the engines."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from floor.box import containers, direct, files, holds, lease, paths, processes, strangers, systemctl, units
from floor.box.command import Run, run
from floor.box.foreign import later
from floor.box.operation import Operation, now
from floor.box.units import UnitFacts
from floor.engines.ending import Ending, ending
from floor.errors import FloorError
from floor.healthcheck.verdict import Level

from .ask import Answers, ask
from .decide import UP
from .seen import Box, Seen
from .settings import Copy, Settings

_ALIVE = (*UP, "activating")


@dataclass(frozen=True)
class World:
    """What is looked at through. `ask` asks engines, `clock` is monotonic, `seek` returns who else could start or stop
    our engines, `around` who would share a port or the memory and belongs to nobody, `beside` which programs of the box
    ask its engines, on these ports, or others' at these places."""

    root: Path
    clock: Callable[[], float]
    run: Run = run
    show: units.Run | None = None
    ask: Callable[..., Answers] = ask
    seek: Callable[..., Mapping[str, object]] = later.look
    around: Callable[[int], tuple[str, ...]] = lambda port: (*strangers.engines(), *strangers.holders(port))
    beside: Callable[[Collection[int], Collection[direct.Place]], list[dict[str, Any]]] = direct.here


def look(settings: Settings, world: World) -> tuple[Box, dict[str, Seen]]:
    """Given the settings, return the box and each copy by its unit. Raise FloorError if systemd cannot be asked."""
    box = _box(world.root)
    known = units.show_loaded([copy.unit for copy in settings.copies], world.show)
    mode = _mode(world.root)
    kept = held(world.root)
    boxed = _containers(settings, world.run)
    up = [copy for copy in settings.copies if copy.url and known[copy.unit].active in UP and mode in copy.modes]
    answers = world.ask(up, settings.key_file, world.root)
    seen = {}
    for copy in settings.copies:
        unit = known[copy.unit]
        verdict, load = answers.get(copy.unit, (None, None))
        down = unit.active in ("inactive", "failed")
        weak = verdict is not None and verdict.level is not Level.GENERATES
        seen[copy.unit] = Seen(
            unit=unit,
            at=world.clock(),
            wanted=unit.exists and unit.enabled == "enabled" and mode in copy.modes,
            verdict=verdict,
            load=load,
            connections=_connections(copy) if weak else None,
            hold=kept[copy.unit].words if copy.unit in kept else "",
            conflicts=_conflicts(unit, known),
            left=_left(copy, unit, boxed, world) if down else (),
            strangers=world.around(copy.port) if down else (),
            ending=_ending(unit, world.run) if down or unit.restarts else None,
        )
    return box, seen


def _box(root: Path) -> Box:
    record = Operation(root).read()
    if record is None:
        return Box()
    words = lease.words(record)
    if record["live"]:
        return Box(record["epoch"], f"held by {words}")
    if record["state"] in ("done", "aborted"):
        return Box(record["epoch"])
    until = record["until"]
    left = float(until["monotonic"]) if until["boot"] == now().boot else 0.0
    return Box(record["epoch"], "", f"{words}, which was abandoned or failed", left)


def held(root: Path) -> dict[str, holds.Hold]:
    """Return the holds by unit; none where their file is broken: `floor status` tells, nothing stays down for it."""
    try:
        return holds.read(root)
    except FloorError:
        return {}


def _mode(root: Path) -> str:
    place = paths.under(root, paths.MODE)
    return place.read_text().strip() if files.look(str(paths.MODE), root) else ""


def _conflicts(unit: UnitFacts, known: Mapping[str, UnitFacts]) -> dict[str, str]:
    named = dict.fromkeys(unit.conflicts)
    return {name: known[name].active for name in named if name in known and known[name].active in _ALIVE}


def _containers(settings: Settings, run: Run) -> set[str]:
    """The containers of copies that run; none where docker does not answer: its units tell the reason."""
    names = [containers.of_unit(copy.unit) for copy in settings.copies if copy.docker]
    try:
        return {name for name, one in containers.inspect(names, run).items() if one["running"]}
    except FloorError:
        return set()


def _left(copy: Copy, unit: UnitFacts, boxed: set[str], world: World) -> tuple[str, ...]:
    found = strangers.left(unit.cgroup or f"/system.slice/{copy.unit}", world.root)
    name = containers.of_unit(copy.unit)
    return (*found, f"container {name}") if name in boxed else found


def _connections(copy: Copy) -> int | None:
    try:
        return processes.connections("127.0.0.1", copy.port, ())
    except (OSError, RuntimeError):
        return None


def _ending(unit: UnitFacts, run: Run) -> Ending | None:
    lines = systemctl.last_lines(unit.name, 60, unit.invocation, run)
    return ending(lines, None if unit.killed else unit.ended)
