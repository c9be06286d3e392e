"""A copy on a box: its unit, what its process is started with, and the settings that its warm-up reads."""

from __future__ import annotations

import json

from floor.box import paths
from floor.config.hosts import netloc
from floor.config.model import Health, ResolvedCopy
from floor.desired import engine_unit
from floor.desired.engine_unit import Seat
from floor.desired.state import File, Kind, Unit
from floor.desired.times import RESTART_SECONDS
from floor.engines.serve import GENERATE


def copy(
    resolved: ResolvedCopy, ip: str, modes: tuple[str, ...], health: Health, *, guarded: bool = True
) -> tuple[Unit, list[File]]:
    """Given a managed copy, the address that it listens on, the modes in which it runs, how copies are judged and
    whether its box has a guard, return its unit and its files. Raises ConfigError naming the copy where something of it
    cannot be written down."""
    name = unit_name(resolved.model)
    seat = Seat(
        unit=name,
        settings=settings_path(resolved.model),
        modes=modes,
        description=f"floor: {resolved.model}, the copy on {resolved.box}",
        template="copy.service.j2",
        restart=RESTART_SECONDS,
        guarded=guarded,
    )
    launch, text = engine_unit.unit(resolved, ip, seat)
    files = [File(str(paths.UNITS / name), text), File(seat.settings, settings(resolved, ip, health))]
    return Unit(name, Kind.COPY, launch, resolved.backend, modes=modes), files


def unit_name(model: str) -> str:
    """Given a model's name, return that of the unit of its copy; a box holds one copy of a model at most."""
    return f"floor-copy-{model}.service"


def settings_path(model: str) -> str:
    """Given a model's name, return where the settings of its copy lie on a box."""
    return str(paths.ENGINES / f"{model}.json")


def settings(resolved: ResolvedCopy, ip: str, health: Health) -> str:
    """Given a copy, its address and how copies are judged, return what the warm-up and the agent are told of it."""
    found = {
        "backend": resolved.backend,
        "url": f"http://{netloc(ip, resolved.port)}",
        "model": resolved.model,
        "dialect": resolved.engine,
        "key_file": str(paths.ENGINE_KEY) if resolved.key else None,
        "start_time": resolved.start_time,
        "context": resolved.context,
        "stall": health.stall,
        "min_speed": health.min_speed,
    }
    if resolved.task != GENERATE:
        found["task"] = resolved.task
    if resolved.engine == "ollama":
        # It alone tells where its model lies, and falls back on the processor without a word (ollama#7669).
        runtime = resolved.runtime
        found["card"] = runtime is not None and (runtime.kind == "native" or runtime.gpus is not None)
    return json.dumps(found, indent=1, sort_keys=True) + "\n"
