"""`floor init`: a commented floor.yaml, filled in from what this machine shows."""

from __future__ import annotations

from pathlib import Path

from floor.config.init import propose
from floor.errors import FloorError
from floor.operations.init_probe import probe


def write(path: Path) -> str:
    """Given where to write it, write a floor.yaml for this machine and return what to do next.

    Raise FloorError where the file cannot be written.
    """
    try:
        path.write_text(propose(probe()))
    except OSError as error:
        raise FloorError(f"{path}: cannot be written: {error.strerror}; choose another place") from error
    return f"wrote {path}; look it over, then: floor check, floor setup BOX for each box, floor deploy --mode replicas"
