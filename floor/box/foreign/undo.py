"""Brings back what was taken over, in the opposite order: what was enabled is enabled, what ran is started."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from floor.box import paths, systemctl
from floor.box.command import Run, run
from floor.box.foreign import crontab, taken
from floor.errors import FloorError


def undo(root: Path = paths.ROOT, run: Run = run) -> list[str]:
    """Bring everything back, and return a line for each thing: what was done, or what a person has to do.

    What cannot be brought back stays on record; the others are brought back all the same.
    """
    lines = []
    for entry in reversed(taken.read(root)):
        try:
            lines.append(_put_back(entry, root, run))
        except FloorError as error:
            lines.append(
                f"{entry['kind']} {entry['name']} could not be brought back: {error}; it stays in {paths.TAKEN_OVER}"
            )
        else:
            taken.forget(entry, root)
    return lines


def _put_back(entry: Mapping[str, Any], root: Path, run: Run) -> str:
    name, was = entry["name"], entry["was"]
    if entry["kind"] == "unit":
        return _unit(name, was, run)
    if entry["kind"] == "container":
        return _container(name, was, run)
    if entry["kind"] == "cron":
        back = crontab.enable(Path(name), entry["key"], root)
        return (
            f"{name}: its line is in force again" if back else f"{name}: the line that floor took over is there no more"
        )
    return f"process {name} is not started by floor; it was, in {was['folder']}: {' '.join(was['argv'])}"


def _unit(name: str, was: Mapping[str, Any], run: Run) -> str:
    if not systemctl.show([name], run)[name].exists:
        return f"unit {name} is there no more"
    done = []
    if str(was["enabled"]).startswith("enabled"):
        systemctl.do(["enable", *(["--runtime"] if was["enabled"].endswith("-runtime") else []), "--", name], run)
        done.append("enabled")
    if was["running"]:
        systemctl.do(["start", "--no-block", "--", name], run)
        done.append("started")
    return f"unit {name} is as it was: {' and '.join(done) or 'neither enabled nor started'}"


def _container(name: str, was: Mapping[str, Any], run: Run) -> str:
    if was["auto_remove"]:
        return f"container {name} was started with --rm and is gone; start it again as you did"
    steps = [["update", f"--restart={was['policy']}", name], *([["start", name]] if was["running"] else [])]
    for words in steps:
        result = run(["docker", *words])
        if not result.ok:
            raise FloorError(f"`docker {' '.join(words)}` failed: {result.said or result.code}")
    return f"container {name} is as it was: restart policy {was['policy']}{', started' if was['running'] else ''}"
