"""Guard and watchdog of a box: units, and the settings that they read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from floor.box import paths
from floor.config.hosts import netloc
from floor.config.model import Config, ResolvedCopy
from floor.desired import copies, groups
from floor.desired.leave import status_url
from floor.desired.state import MODES, BoxFacts, File, Kind, Launch, Unit
from floor.render import template

Part = tuple[Unit, list[File]]
# Seconds between two rounds of the watchdog. A round costs a third of a second of one core, and what it looks for lasts
# for minutes.
INTERVAL = 30
# A round asks every engine at most twice for ten seconds, and a command or a web hook may take ten more.
LONGEST_ROUND = 120


@dataclass(frozen=True)
class Engine:
    """An engine of a box that is looked after: a copy, or a part of a group. `answers`: it has a port that can be
    asked, which of a group only the head has."""

    copy: ResolvedCopy
    unit: str
    modes: tuple[str, ...]
    answers: bool = True


def engines(config: Config, box: str) -> list[Engine]:
    """Given the config and a managed box, return its engines of both modes."""
    found = []
    for model, one in config.models.items():
        modes = MODES if one.split is None else MODES[:1]
        found += [Engine(copy, copies.unit_name(model), modes) for copy in config.copies(model) if copy.box == box]
        parts = config.parts(model)
        found += [
            Engine(part, groups.unit_name(model), (groups.MODE,), part is parts[0]) for part in parts if part.box == box
        ]
    return found


def guard(config: Config, box: str, here: Sequence[Engine], release: str) -> Part:
    """Given the config, a box, its engines and floor's release, return the guard's unit and files."""
    found = {
        "mode": config.guard.mode,
        "floor": config.guard.floor,
        "keep_free": config.boxes[box].keep_free,
        "copies": [_guarded(engine) for engine in here],
    }
    settings = File(str(paths.GUARD_SETTINGS), json.dumps(found, indent=1, sort_keys=True) + "\n")
    launch = Launch((str(paths.PYTHON), "-I", "-m", "floor.guard"), extra=(settings.text, release))
    text = template("systemd/floor-guard.service.j2", launch=launch, records=str(paths.LIB))
    unit = Unit("floor-guard.service", Kind.GUARD, launch, reload_on=(settings.path,))
    return unit, [settings, File(str(paths.UNITS / unit.name), text)]


def watchdog(config: Config, box: str, boxes: Mapping[str, BoxFacts], here: Sequence[Engine]) -> list[Part]:
    """Given the config, a box, what is known of the boxes and the box's engines, return its timer and what that starts.

    Each round is a process of its own that reads its settings anew: nothing has to be restarted for a change of them.
    """
    ip = boxes.get(box, BoxFacts(None)).address or config.boxes[box].host
    found = {
        "interval": INTERVAL,
        "restarts": config.watchdog.restarts or None,
        "key_file": str(paths.ENGINE_KEY),
        "copies": [_watched(config, engine, ip) for engine in here],
        "notify": _notify(config, box, boxes),
    }
    # The address of a web hook is often all that it takes to write there.
    mode = 0o600 if (config.notify.webhook or "").startswith("http") else 0o644
    settings = File(str(paths.WATCHDOG_SETTINGS), json.dumps(found, indent=1, sort_keys=True) + "\n", mode)
    launch = Launch((str(paths.PYTHON), "-I", "-m", "floor.watchdog", "--once"))
    service = Unit("floor-watchdog.service", Kind.ROUND, launch)
    text = template("systemd/floor-watchdog.service.j2", launch=launch, longest=LONGEST_ROUND)
    timer = File(str(paths.UNITS / "floor-watchdog.timer"), template("systemd/floor-watchdog.timer.j2", every=INTERVAL))
    return [
        (service, [settings, File(str(paths.UNITS / service.name), text)]),
        (Unit("floor-watchdog.timer", Kind.TIMER, Launch(()), reload_on=(timer.path,)), [timer]),
    ]


def wants_watchdog(config: Config, box: str, here: Sequence[Engine]) -> bool:
    """Whether a box has something to look after: engines, or a pool of which somebody is to be told."""
    told = bool(config.notify.command or config.notify.webhook)
    return bool(here) or (told and box in config.proxy.boxes)


def _guarded(engine: Engine) -> dict[str, Any]:
    copy = engine.copy
    runtime = copy.runtime
    docker = runtime is not None and runtime.kind == "docker"
    return {
        "backend": copy.backend,
        "unit": engine.unit,
        "docker": docker,
        # A container that gets no card, and vLLM's build for the CPU, take no share of anything.
        "card": not (docker and runtime is not None and runtime.gpus is None)
        and "VLLM_CPU_KVCACHE_SPACE" not in copy.env,
        "utilization": copy.utilization,
        "cache_memory": copy.cache_memory,
    }


def _watched(config: Config, engine: Engine, ip: str) -> dict[str, Any]:
    copy = engine.copy
    return {
        "backend": copy.backend,
        "unit": engine.unit,
        "url": f"http://{netloc(ip, copy.port)}" if engine.answers else None,
        "model": copy.model,
        "dialect": copy.engine,
        "port": copy.port if engine.answers else None,
        "key": copy.key,
        "docker": copy.runtime is not None and copy.runtime.kind == "docker",
        "modes": list(engine.modes),
        "stall": config.health.stall,
        "start_time": copy.start_time,
        "request_time": copy.request_time,
    }


def _notify(config: Config, box: str, boxes: Mapping[str, BoxFacts]) -> list[dict[str, Any]]:
    notify = config.notify
    if not notify.command and notify.webhook is None:
        return []
    hook = notify.webhook or ""
    return [
        {
            "command": notify.command or None,
            "webhook": hook if hook.startswith("http") else None,
            "webhook_file": hook if hook.startswith("/") else None,
            "every": notify.every,
            "most": notify.most,
            **_before(config, box, boxes),
        }
    ]


def _before(config: Config, box: str, boxes: Mapping[str, BoxFacts]) -> dict[str, list[str]]:
    """The status ports of the proxy boxes that come before a proxy box in floor.yaml; nothing for any other."""
    proxies = config.proxy.boxes
    first = proxies[: proxies.index(box)] if box in proxies else []
    return {"before": [status_url(config, name, boxes) for name in first]} if first else {}
