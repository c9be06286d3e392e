"""Everything a planner needs to know of this box, in one answer. Looks, and changes nothing."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from floor.box import (
    alarms,
    certificate,
    clients,
    containers,
    facts,
    files,
    firewall,
    holds,
    parts,
    paths,
    processes,
    releases,
    secrets,
    starts,
    systemctl,
    tested,
    units,
    weights,
)
from floor.box.command import Run, run
from floor.box.operation import Operation
from floor.errors import FloorError

# What every process of ours carries: digests of what it was started with, and of the engine key that it was given.
LAUNCH, KEYS = "FLOOR_LAUNCH", "FLOOR_KEYS"
GROUP = "floor-group-"  # what the units of parts of groups begin with


def read(asked: Mapping[str, Any], root: Path = paths.ROOT, run: Run = run) -> dict[str, Any]:
    """Given {"units": {name: {"env": [keys]}}, "files", "images", "paths", "read", "weights", "toward", "tls",
    "firewalls"}, return all there is.

    `toward` are addresses to tell the own sending address of, `tls` the paths of a certificate and its key; with
    `firewalls` other people's are told, too.


    Units that are ours and exist are told even when not asked for. Raises FloorError when systemd does not answer.
    """
    keys = {name: list((wish or {}).get("env", ())) for name, wish in (asked.get("units") or {}).items()}
    ours = listed_units(root, run)
    found = secrets.read(root)
    return {
        "facts": facts.read(run, root),
        "release": releases.current(root),
        "mode": _text(paths.MODE, root),
        "operation": Operation(root).read(),
        "config": text(str(paths.CONFIG), root),
        "configs": document(paths.CONFIG_HISTORY, root) or [],
        "files": {path: files.look(path, root) for path in asked.get("files") or ()},
        "texts": {path: text(path, root) for path in asked.get("read") or ()},
        "owned": files.listed(root),
        "units": seen_units({**{name: [] for name in ours}, **keys}, root, run),
        "images": _images(asked.get("images") or (), run),
        "paths": {path: paths.under(root, path).exists() for path in asked.get("paths") or ()},
        "weights": {folder: weights.state(folder, root) for folder in asked.get("weights") or ()},
        "listening": processes.listening(),
        "drains": document(paths.DRAINS, root) or {},
        "starts": starts.read(root),
        "holds": holds.told(root),
        "pool": document(paths.POOL_STATE, root),
        "secrets": secrets.fingerprint(found),
        "keys": secrets.told(root),
        "clients": clients.told(root),
        "firewall": firewall.look(root, run),
        "firewalls": firewall.others(run) if asked.get("firewalls") else [],
        "tls": certificate.look(asked["tls"][0], asked["tls"][1], root) if asked.get("tls") else None,
        "sources": firewall.sources(asked.get("toward") or ()),
        "tests": tested.last(root),
        "baselines": tested.baselines(root),
        "alarms": alarms.read(root, time.time()),
    }


def listed_units(root: Path = paths.ROOT, run: Run = run) -> list[str]:
    """Return the units that are ours: those with a file here, and those that systemd still holds loaded."""
    folder = paths.under(root, paths.UNITS)
    on_disk = {place.name for kind in ("service", "target", "timer") for place in folder.glob(f"floor*.{kind}")}
    result = run(["systemctl", "list-units", "--all", "--plain", "--no-legend", "--no-pager", "floor*"])
    loaded = {words[0] for line in result.out.splitlines() if (words := line.split())}
    return sorted(on_disk | {name for name in loaded if name.endswith((".service", ".target", ".timer"))})


def seen_units(keys: Mapping[str, Iterable[str]], root: Path = paths.ROOT, run: Run = run) -> dict[str, dict[str, Any]]:
    """Given unit names and the variables to tell of each, return what systemd, /proc and docker say of them."""
    shown = systemctl.show(list(keys), run)
    boxed = _containers([containers.of_unit(name) for name in keys], run)
    to_unix = time.time() - time.monotonic()
    answer = {}
    for name, unit in shown.items():
        young = [at for pid in _children(unit.main_pid) if (at := processes.started(pid)) is not None]
        answer[name] = {
            **unit.as_json(),
            "argv": processes.argv(unit.main_pid) if unit.main_pid else [],
            "env": processes.environ(unit.main_pid, [LAUNCH, KEYS, *keys[name]]) if unit.main_pid else {},
            "left": processes.in_cgroup(unit.cgroup, root),
            "container": boxed.get(containers.of_unit(name)),
            "main_started": unit.started + to_unix if unit.started is not None and unit.main_pid else None,
            "youngest_child": max(young, default=None),
            "at": unit.since + to_unix if unit.since is not None else None,
            **({"part": _part(unit, root)} if name.startswith(GROUP) else {}),
        }
    return answer


def _part(unit: units.UnitFacts, root: Path) -> dict[str, Any]:
    """How far the part of a group is that this unit runs, and whether it was told that it goes (null: it cannot be)."""
    model = unit.name.removeprefix(GROUP).removesuffix(".service")
    mark = parts.get(model, root)
    return {**parts.told("", unit, mark).as_json(), "leaves": parts.goes(unit, mark)}


def _children(pid: int) -> list[int]:
    return processes.children(pid) if pid else []


def _containers(names: list[str], run: Run) -> dict[str, dict[str, Any]]:
    try:
        return containers.inspect(names, run)
    except FloorError as error:  # a dead docker must not hide the rest of the box; its units tell the reason
        return {name: {"id": None, "image": None, "error": str(error)} for name in names}


def _images(references: Iterable[str], run: Run) -> dict[str, str | None]:
    try:
        return containers.images(references, run)
    except FloorError:  # told by facts.docker_error
        return dict.fromkeys(references)


def text(path: str, root: Path = paths.ROOT) -> str | None:
    """Return a file's text, None where there is none. Secrets are not told."""
    if Path(path).is_relative_to(paths.SECRETS) or ".." in Path(path).parts:
        return None
    try:
        return paths.under(root, path).read_text(errors="replace")
    except OSError:
        return None


def _text(path: Path, root: Path) -> str | None:
    found = text(str(path), root)
    return found.strip() or None if found is not None else None


def document(path: Path, root: Path = paths.ROOT) -> Any:
    """Return what a JSON file of ours holds, None where there is none. Raises FloorError for one that is no JSON."""
    found = text(str(path), root)
    if found is None:
        return None
    try:
        return json.loads(found)
    except ValueError as error:
        raise FloorError(f"{path}: is not JSON ({error}); look at it, then remove it or put it right") from None
