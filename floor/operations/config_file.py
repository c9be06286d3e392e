"""A person's floor.yaml, replaced as a whole; and what it was before a swap, kept beside it until that is over."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from floor.config.load import text_of
from floor.errors import FloorError


def write(path: Path, text: str) -> None:
    """Replace a file of the person's, as a whole, with its owner's rights. Raise FloorError where that cannot be."""
    try:
        mode = path.stat().st_mode & 0o7777 if path.exists() else 0o644
        with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(file.name).chmod(mode)
        Path(file.name).replace(path)
    except OSError as error:
        raise FloorError(f"{path}: cannot be written ({error.strerror}); nothing was changed") from error


def before(path: Path) -> str | None:
    """Given the path of a floor.yaml, return what it was before the swap that is under way; None where none edited it.
    Raise ConfigError where that cannot be read."""
    place = _beside(path)
    return text_of(place) if place.exists() else None


def replace(path: Path, old: str, new: str) -> None:
    """Keep what the file was and write what it is to be. Raise FloorError where one of them cannot be written."""
    if old == new:
        return
    if not _beside(path).exists():
        write(_beside(path), old)
    write(path, new)


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
    write(path, old)
    keep(path)
    return f"{path} is as it was before the swap"


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.before-swap")
