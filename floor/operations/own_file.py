"""The person's own file, floor.yaml: replaced whole or not at all, wherever it lies."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from floor.errors import FloorError

NEW = 0o666  # of a file that is not there yet, less what the umask takes


def write(path: Path, text: str) -> None:
    """Given the path of a file and its text, write it in one step: who reads meanwhile, and whatever happens, there is
    the old file or the new one.

    A link stays a link, and what it leads to is replaced; mode and owner stay. What is no file (a terminal, a pipe) is
    written to. Raise FloorError where it cannot be written, or would become somebody else's; it is then as it was.
    """
    try:
        seen = _seen(path)
        if seen is not None and not stat.S_ISREG(seen.st_mode):
            path.write_text(text, encoding="utf-8", newline="")
            return
        _replace(Path(os.path.realpath(path)), text.encode(), seen)
    except OSError as error:
        words = f"{path}: cannot be written: {error.strerror or error}; choose another place, or see to its rights"
        raise FloorError(words) from error


def _seen(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _replace(place: Path, data: bytes, seen: os.stat_result | None) -> None:
    handle, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.", suffix=".new")
    new = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            _stands_as(file.fileno(), seen)
            os.fsync(file.fileno())
        new.replace(place)
    except BaseException:
        new.unlink()
        raise
    folder = os.open(place.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _stands_as(handle: int, seen: os.stat_result | None) -> None:
    """Give a new file the owner and mode of the one before it. Raise PermissionError where only root could."""
    if seen is None:
        umask = os.umask(0)
        os.umask(umask)
        os.fchmod(handle, NEW & ~umask)
        return
    now = os.fstat(handle)
    if (now.st_uid, now.st_gid) != (seen.st_uid, seen.st_gid):
        try:
            os.fchown(handle, seen.st_uid, seen.st_gid)
        except PermissionError as error:
            raise PermissionError(error.errno, "it is somebody else's, and would become yours") from error
    os.fchmod(handle, stat.S_IMODE(seen.st_mode))
