"""`floor init`: a commented floor.yaml, filled in from what this machine shows."""

from __future__ import annotations

from pathlib import Path

from floor.config.init import propose
from floor.errors import RefusedError
from floor.operations import own_file
from floor.operations.init_probe import probe


def write(path: Path, *, force: bool) -> str:
    """Given where to write it, write a floor.yaml for this machine and return what to do next.

    Raise RefusedError where a file is there already and `force` is not given, FloorError where it cannot be written.
    """
    if path.exists() and not force:
        raise RefusedError(f"{path} is there already; write another one (floor init OTHER.yaml), or add --force")
    own_file.write(path, propose(probe()))
    return f"wrote {path}; look it over, then: floor check, floor setup BOX for each box, floor deploy --mode replicas"
