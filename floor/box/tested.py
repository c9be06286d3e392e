"""What the tool test found of the engines of this box: the last test of each unit, and baselines of builds."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from floor.box import files, paths
from floor.box.locked import mine
from floor.errors import FloorError, UsageError

NAME = re.compile(r"[0-9a-f]{16}-[0-9a-f]{16}")  # of a baseline: the digests of its build and of the scenarios
KEPT = 5  # baselines of a model
DAY = 86400.0
FAILED = "FAILED"  # there was no verdict
FIELDS = ("invocation", "launch", "tier", "against")  # by which one test is told from another


def last(root: Path = paths.ROOT) -> dict[str, dict[str, Any]]:
    """Return the last test of each unit: {unit: {invocation, launch, tier, against, word, reasons, score, baseline,
    seconds, at, accepted}}. A file that is damaged tells nothing."""
    found = {}
    for place in _folder(root).glob("floor-*.json"):
        try:
            told = json.loads(place.read_text())
            found[place.stem] = {**told, "word": str(told["word"])}
        except (OSError, ValueError, TypeError, KeyError):
            continue
    return found


def keep(unit: str, told: Mapping[str, Any], page: str | None = None, root: Path = paths.ROOT) -> None:
    """Replace what is known of a unit's last test, and the page of it where there is one."""
    if page is not None:
        files.write(paths.TESTS / f"{_unit(unit)}.md", page, owner=mine(), root=root)
    text = json.dumps(dict(told), ensure_ascii=False, indent=1)
    files.write(paths.TESTS / f"{_unit(unit)}.json", f"{text}\n", owner=mine(), root=root)


def failed(job: Mapping[str, Any], why: str, *, down: bool, root: Path = paths.ROOT) -> None:
    """Keep that a test came to no verdict, and why; `down`: its engine did not answer."""
    told = {name: job.get(name) for name in (*FIELDS, "backend", "build", "epoch")}
    keep(str(job["unit"]), {**told, "word": FAILED, "reasons": [why], "down": down}, "", root)


def page(unit: str, root: Path = paths.ROOT) -> str:
    """Return the page of a unit's last test, empty where there is none."""
    try:
        return paths.under(root, paths.TESTS / f"{_unit(unit)}.md").read_text()
    except FileNotFoundError:
        return ""


def log(task: str, root: Path = paths.ROOT) -> Path:
    """Given the task of a test, return where its trials are written down while it goes on."""
    return paths.under(root, paths.TESTS / f"{task}.trials")


def tidy(now: float, root: Path = paths.ROOT) -> None:
    """Remove the logs of tests that nobody has gone on with for a day (unix seconds)."""
    for place in _folder(root).glob("*.trials"):
        if now - place.stat().st_mtime > DAY:
            place.unlink(missing_ok=True)


def baselines(root: Path = paths.ROOT) -> dict[str, list[str]]:
    """Return the names of the baselines that lie here, by model, the oldest first."""
    found = {}
    for folder in sorted(_folder(root).glob("*/")):
        places = sorted(folder.glob("*.json"), key=lambda place: place.stat().st_mtime)
        if names := [place.stem for place in places if NAME.fullmatch(place.stem)]:
            found[folder.name] = names
    return found


def baseline(model: str, name: str, root: Path = paths.ROOT) -> Path:
    """Given a model and the name of a baseline, return where it lies, or would. Raise UsageError for what is no
    name."""
    if not NAME.fullmatch(name) or "/" in model or model in ("", ".", ".."):
        raise UsageError(f"baseline {name!r} of {model!r}: is no name of one")
    return paths.under(root, paths.TESTS / model / f"{name}.json")


def put(model: str, name: str, text: str, root: Path = paths.ROOT) -> None:
    """Keep a baseline; of a model the last few are kept."""
    baseline(model, name, root)
    files.write(paths.TESTS / model / f"{name}.json", text, owner=mine(), root=root)
    for old in [one for one in baselines(root).get(model, ()) if one != name][: -KEPT + 1]:
        baseline(model, old, root).unlink(missing_ok=True)


def same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two tests are of one process, by one tier, against one baseline."""
    return all(one.get(field) == other.get(field) for field in FIELDS)


def accept(unit: str, invocation: str, by: str, root: Path = paths.ROOT) -> None:
    """Let what runs serve although the test left it open. Raise FloorError where it is not what was tested last."""
    found = last(root).get(unit) or {}
    if found.get("invocation") != invocation:
        raise FloorError(f"{unit}: was started anew since it was tested; run the same command again")
    keep(unit, {**found, "accepted": by}, root=root)


def _folder(root: Path) -> Path:
    return paths.under(root, paths.TESTS)


def _unit(name: str) -> str:
    if not re.fullmatch(r"floor-[A-Za-z0-9_.@:-]+\.service", name):
        raise UsageError(f"unit {name!r}: must be floor's, as floor-copy-MODEL.service")
    return name
