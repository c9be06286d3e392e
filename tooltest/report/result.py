"""The result of a run: a file with every trial and the identity of what was tested. A baseline is such a file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from floor.errors import FloorError, UsageError

from ..trial.record import Record

FORMAT = "floor-tooltest-1"
COMPARED = {
    "suite": "the scenarios",
    "seed": "the seed",
    "sampling": "the sampling",
    "system": "the system prompt",
}


@dataclass(frozen=True)
class Result:
    """`setting` has the fields that must agree for a comparison. `left_out`: scenarios that do not fit the context.

    `seconds`: of the run; `harness`: of those, processor seconds of the test itself. `probes`: what stands beside.
    """

    setting: Mapping[str, Any]
    tier: str
    concurrency: int
    tested: Mapping[str, Any]
    when: str
    seconds: float
    harness: float
    left_out: Sequence[str]
    trials: Sequence[Record]
    probes: Mapping[str, Any] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """As JSON; its schema is `result.schema.json`."""
        return {
            "format": FORMAT,
            "setting": dict(self.setting),
            "tier": self.tier,
            "concurrency": self.concurrency,
            "tested": dict(self.tested),
            "when": self.when,
            "seconds": self.seconds,
            "harness_seconds": self.harness,
            "left_out": list(self.left_out),
            "probes": dict(self.probes),
            "trials": [one.document() for one in self.trials],
        }


def of(document: Any, where: str) -> Result:
    """From JSON. Raises UsageError, which names the file `where`, where it is no result."""
    try:
        if document["format"] != FORMAT:
            raise UsageError(f"{where}: has the format {document['format']!r}, this is {FORMAT}; make it anew")
        return Result(
            dict(document["setting"]),
            document["tier"],
            document["concurrency"],
            dict(document["tested"]),
            document["when"],
            float(document["seconds"]),
            float(document["harness_seconds"]),
            list(document["left_out"]),
            [Record.of(one) for one in document["trials"]],
            dict(document["probes"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise UsageError(f"{where}: is no result of a tool test; `floor tooltest baseline` makes one") from None


def read(path: Path) -> Result:
    """From a file. Raises UsageError where it cannot be read as a result."""
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        what = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"{path}: cannot be read: {what}; `floor tooltest baseline` makes one") from None
    return of(document, str(path))


def write(path: Path, text: str) -> None:
    """A whole file or the one before, never half of one; a link stays a link, and what is no file (a terminal, a pipe)
    is written to. Raises FloorError where it cannot be written."""
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, "utf-8")
            return
        place = Path(os.path.realpath(path))
        place.parent.mkdir(parents=True, exist_ok=True)
        _replace(place, place.with_name(f".{place.name}.{os.getpid()}.part"), text)
    except OSError as error:
        raise FloorError(f"{path}: cannot be written: {error.strerror}") from None


def _replace(place: Path, part: Path, text: str) -> None:
    try:
        with part.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        part.replace(place)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """What forbids to compare two settings, a sentence for each field; [] where nothing does."""
    return [
        f"{what} differs: {field} is {one.get(field)!r} there and {other.get(field)!r} here"
        for field, what in COMPARED.items()
        if one.get(field) != other.get(field)
    ]


def comparable(baseline: Mapping[str, Any], candidate: Mapping[str, Any], where: str) -> None:
    """Raise UsageError where two settings must not be compared; `where` names the baseline's file."""
    if wrong := differing(baseline, candidate):
        raise UsageError(f"{where}: cannot be compared: {'; '.join(wrong)}; make a baseline with the same")
