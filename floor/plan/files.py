"""Steps that put files right, and the words for what is wrong with them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from floor.box import paths
from floor.plan.difference import FileDifference
from floor.plan.steps import Step


def file_steps(box: str, found: Sequence[FileDifference]) -> list[Step]:
    """Given what differs on a box, return the steps that put it right: stray files go, wanted ones come."""
    steps = []
    if stray := [each for each in found if each.wanted is None]:
        gone = [each.path for each in stray]
        steps.append(Step(box, "files.remove", {"paths": gone}, f"remove {_named(gone)}", _why(stray)))
    if put := [each for each in found if each.wanted is not None]:
        files = [
            {"path": file.path, "text": file.text, "mode": file.mode, "owner": file.owner}
            for each in put
            if (file := each.wanted)
        ]
        text = f"write {_named([each.path for each in put])}"
        steps.append(Step(box, "files.put", {"files": files}, text, _why(put)))
    return steps


def reload_units(box: str) -> Step:
    """systemd reads its unit files again. Only where their bytes changed: it can take GPUs from containers (O22)."""
    return Step(box, "units.reload", {}, "let systemd read its units again")


def is_unit(path: str) -> bool:
    """Whether systemd reads the file at this path as a unit or a drop-in."""
    return PurePosixPath(path).is_relative_to(PurePosixPath(paths.UNITS))


def _why(found: Sequence[FileDifference]) -> str:
    """What is wrong with files, said once for all that it is true of."""
    whats = dict.fromkeys(each.what for each in found)
    if len(found) == 1 or len(whats) == len(found):
        return "; ".join(f"{each.path} {each.what}" for each in found)
    return "; ".join(_of(what, [each.path for each in found if each.what == what]) for what in whats)


def _of(what: str, places: Sequence[str]) -> str:
    return f"{places[0]} {what}" if len(places) == 1 else f"{len(places)} files: {what}"


def _named(found: Sequence[str]) -> str:
    return found[0] if len(found) == 1 else f"{found[0]} and {len(found) - 1} more"
