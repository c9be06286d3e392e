"""What floor.yaml was before a swap, kept beside it until that is over."""

from __future__ import annotations

from pathlib import Path

from floor.config.load import text_of
from floor.operations import own_file


def before(path: Path) -> str | None:
    """Given the path of a floor.yaml, return what it was before the swap that is under way; None where none edited it.
    Raise ConfigError where that cannot be read."""
    place = _beside(path)
    return text_of(place) if place.exists() else None


def replace(path: Path, old: str, new: str) -> None:
    """Keep what the file was and write what it is to be. Raise FloorError where one of them cannot be written.

    Where the person wrote it, nothing is kept, nor what a swap of before may have left there: it would come back.
    """
    if old == new:
        keep(path)
        return
    own_file.write(_beside(path), old)
    own_file.write(path, new)


def keep(path: Path) -> None:
    """The swap is over and the file stays as it is."""
    _beside(path).unlink(missing_ok=True)


def restore(path: Path, new: str) -> str:
    """Given a floor.yaml and what a swap made of it, put back what it was. Return what a person has to know of it, in
    words; empty where no swap edited it."""
    old = before(path)
    if old is None:
        return ""
    if text_of(path) not in (old, new):
        return f"{path} was edited since and is left as it is; what it was before the swap is in {_beside(path)}"
    own_file.write(path, old)
    keep(path)
    return f"{path} is as it was before the swap"


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.before-swap")
