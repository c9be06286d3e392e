"""floor.yaml and a mode, turned into what every box must hold. Pure: the same input gives the same bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from floor.box import paths
from floor.config.model import Config, ResolvedCopy
from floor.desired import copies, firewall, groups, keepalived, leave, metrics, nginx, pool, services, watch
from floor.desired.front import Front, fronts
from floor.desired.state import MODES, BoxFacts, BoxState, File, Unit
from floor.errors import UsageError

Part = tuple[Unit, list[File]]


def demand(mode: str) -> None:
    """Raise UsageError for what is no mode."""
    if mode not in MODES:
        raise UsageError(f"mode {mode!r}: there is no such mode; write one of {', '.join(MODES)}")


def build(config: Config, mode: str, boxes: Mapping[str, BoxFacts], release: str) -> dict[str, BoxState]:
    """Given the config, the mode, what is known of the boxes and the id of floor's build, return the state of every
    managed box.

    A box that `boxes` does not know counts as one whose host did not resolve: its copies are in no pool, and what runs
    on it listens on its host as floor.yaml writes it. A box holds the units of both modes at any time; what differs is
    its mode file, and whom the pools know.

    Raises UsageError for another mode, ConfigError for what cannot be written down.
    """
    demand(mode)
    models = fronts(config, boxes)
    by_box: dict[str, list[ResolvedCopy]] = {name: [] for name, box in config.boxes.items() if box.managed}
    for model in config.models:
        for found in config.copies(model):
            if found.managed:
                by_box[found.box].append(found)
    ports = {name: leave.status_url(config, name, boxes) for name, box in config.boxes.items() if box.managed}
    proxy = pool.settings(config, models, mode, ports)
    leaving = leave.file(config, boxes)
    grouped = groups.parts(config, boxes, release)
    return {
        name: _box(config, name, mode, boxes, release, here, grouped.get(name, []), models, proxy, leaving, ports)
        for name, here in by_box.items()
    }


def modes(config: Config, model: str, mode: str) -> tuple[str, ...]:
    """Given the config, a model and the present mode, return the modes in which its copies run.

    Without any `split` there is one mode, but for boxes that are in the other one since there was.
    """
    if config.models[model].split is not None:
        return (MODES[0],)
    return MODES if config.splits or mode != MODES[0] else (MODES[0],)


def _box(
    config: Config,
    name: str,
    mode: str,
    boxes: Mapping[str, BoxFacts],
    release: str,
    here: Sequence[ResolvedCopy],
    grouped: Sequence[Part],
    models: Sequence[Front],
    pool_settings: str,
    leaving: File,
    ports: Mapping[str, str],
) -> BoxState:
    facts = boxes.get(name, BoxFacts(None))
    listen = facts.address or config.boxes[name].host
    guarded = config.guard.mode != "none"
    made = [
        copies.copy(found, listen, modes(config, found.model, mode), config.health, guarded=guarded) for found in here
    ]
    made += grouped
    parts: list[Part] = [services.target()] if made else []
    parts += made
    if name in config.proxy.boxes:
        files = nginx.files(config, models, facts)
        shared = keepalived.address(config, name, boxes, models)
        ours = [file.path for file in files]
        proxy_unit, proxy_files = services.proxy(ours, nginx.shutdown_time(models), keepalived.UNIT if shared else "")
        parts += [services.pool(pool_settings, release), (proxy_unit, [*files, *proxy_files])]
        parts += [shared] if shared else []
    if parts and (config.metrics.listen is not None or (config.metrics.page and name in config.proxy.boxes)):
        known = metrics.Proxy(pool_settings, ports, facts.nginx_user) if name in config.proxy.boxes else None
        parts.append(metrics.service(config.metrics, name, listen, known, release))
    if parts:
        units = [unit.name for unit, _ in parts]
        guard, guard_files = firewall.unit()
        parts.append((guard, [*guard_files, firewall.rules(config, name, boxes)]))
        more = groups.told(config, name, listen)
        parts.append(services.status(listen, config.boxes[name].status_port, units, release, more))
    engines = watch.engines(config, name)
    if engines and guarded:
        parts.append(watch.guard(config, name, engines, release))
    if watch.wants_watchdog(config, name, engines):
        parts += watch.watchdog(config, name, boxes, engines)
    own = [File(str(paths.MODE), f"{mode}\n"), leaving] if made else []
    every = sorted([*own, *(file for _, files in parts for file in files)], key=lambda file: file.path)
    return BoxState(name, release, mode, tuple(every), tuple(unit for unit, _ in parts))
