"""Takes the place of what somebody else runs: recorded first, kept from coming back, then stopped. As root.

A thing is {kind, name, key}: a `unit` (services and timers), a `container`, a line of `cron` (name: the file, key: its
digest), or a `process` (name: its number, key: when it began).
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from floor.box import paths, processes, systemctl
from floor.box.command import Run, run
from floor.box.foreign import crontab, hidden, procs, taken
from floor.errors import FloorError

STOP_SECONDS = 10  # that docker gives an engine which has nothing left to do


def disable(thing: Mapping[str, Any], root: Path = paths.ROOT, run: Run = run) -> None:
    """Given a thing, record what it is and keep it from starting again; what runs goes on running."""
    was = look(thing, root, run)
    if was is None:
        return  # gone meanwhile
    taken.add(thing, was, time.time(), root)
    if thing["kind"] == "unit" and str(was["enabled"]).startswith("enabled"):
        systemctl.do(["disable", "--", thing["name"]], run)
    elif thing["kind"] == "container" and not was["auto_remove"] and was["policy"] != "no":
        _docker(["update", "--restart=no", thing["name"]], run)
    elif thing["kind"] == "cron":
        crontab.disable(Path(thing["name"]), thing["key"], root)


def stop(thing: Mapping[str, Any], root: Path = paths.ROOT, run: Run = run, *, kill: bool = False) -> None:
    """Given a thing, keep it from starting again and end what runs of it; at once where `kill`."""
    was = look(thing, root, run)
    disable(thing, root, run)
    if was is None or not was.get("running"):
        return
    if thing["kind"] == "unit":
        systemctl.do(
            ["kill", "--signal=SIGKILL", "--", thing["name"]] if kill else ["stop", "--no-block", "--", thing["name"]],
            run,
        )
    elif thing["kind"] == "container":
        _docker(["kill", thing["name"]] if kill else ["stop", "-t", str(STOP_SECONDS), thing["name"]], run)
    elif thing["kind"] == "process":
        for pid in [*(_below(int(thing["name"])) if kill else ()), int(thing["name"])]:
            _signal(pid, signal.SIGKILL if kill else signal.SIGTERM)


def running(thing: Mapping[str, Any], root: Path = paths.ROOT, run: Run = run) -> bool:
    """Given a thing, return whether any of it still runs."""
    was = look(thing, root, run)
    return bool(was and was.get("running"))


def look(thing: Mapping[str, Any], root: Path = paths.ROOT, run: Run = run) -> dict[str, Any] | None:
    """Given a thing, return what it is now, as the record keeps it; None where there is none such."""
    match thing["kind"]:
        case "unit":
            return _unit(thing["name"], root, run)
        case "container":
            return _container(thing["name"], run)
        case "cron":
            return crontab.look(Path(thing["name"]), thing["key"], root)
        case "process":
            return _process(int(thing["name"]), int(thing["key"]), root)
    raise FloorError(f"{thing['kind']}: no such kind of thing can be taken over")


def _unit(name: str, root: Path, run: Run) -> dict[str, Any] | None:
    unit = systemctl.show([name], run)[name]
    if not unit.exists:
        return None
    left = processes.in_cgroup(unit.cgroup, root)
    return {
        "enabled": unit.enabled,
        "active": unit.active,
        "running": unit.active not in ("inactive", "failed") or bool(left),
    }


def _container(name: str, run: Run) -> dict[str, Any] | None:
    told = run(["docker", "container", "inspect", "--", name])
    found = json.loads(told.out or "[]") if told.code is not None else []
    if not found:
        return None
    host = found[0]["HostConfig"]
    policy = host.get("RestartPolicy") or {}
    word = policy.get("Name") or "no"
    most = policy.get("MaximumRetryCount") or 0
    return {
        "policy": f"{word}:{most}" if most else word,
        "auto_remove": bool(host.get("AutoRemove")),
        "running": bool(found[0]["State"]["Running"]),
    }


def _process(pid: int, ticks: int, root: Path) -> dict[str, Any] | None:
    proc = paths.under(root, "/proc")
    if not ticks or procs.ticks(pid, proc) != ticks or procs.ended(pid, proc):
        return None
    argv, _ = hidden.argv(processes.argv(pid, proc))
    try:
        folder = str((proc / str(pid) / "cwd").readlink())
    except OSError:  # it is ending just now
        folder = "?"
    return {"argv": argv, "folder": folder, "running": True}


def _below(pid: int) -> list[int]:
    found = []
    for child in processes.children(pid):
        found += [child, *_below(child)]
    return found


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _docker(words: list[str], run: Run) -> None:
    result = run(["docker", *words])
    if not result.ok and "no such container" not in result.err.lower():
        raise FloorError(f"`docker {' '.join(words)}` failed: {result.said or result.code}")
