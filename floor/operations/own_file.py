"""The person's own file, floor.yaml: replaced whole or not at all, wherever it lies."""

from __future__ import annotations

import errno
import grp
import os
import pwd
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

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
        _replace(path, Path(os.path.realpath(path)), text.encode(), seen)
    except OSError as error:
        words = f"{path}: cannot be written: {error.strerror or error}; choose another place, or see to its rights"
        raise FloorError(words) from error


def _seen(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _replace(path: Path, place: Path, data: bytes, seen: os.stat_result | None) -> None:
    handle, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.", suffix=".new")
    new = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            _stands_as(path, file.fileno(), seen)
            os.fsync(file.fileno())
        _take_place(path, new, place)
    except BaseException:
        new.unlink()
        raise
    with suppress(OSError):  # it is written; only a power cut within seconds could bring the old one back
        folder = os.open(place.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _take_place(path: Path, new: Path, place: Path) -> None:
    try:
        new.replace(place)
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        # Written in place it would be half a file after a crash.
        words = f"{path}: is a mount of its own, as into a container, and cannot be replaced in one step"
        raise FloorError(f"{words}; mount the folder that it lies in") from error


def _stands_as(path: Path, handle: int, seen: os.stat_result | None) -> None:
    """Give a new file the owner and mode of the one before it. Raise FloorError where only root could."""
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
            whose = f"{_name(pwd.getpwuid, seen.st_uid)}:{_name(grp.getgrgid, seen.st_gid)}"
            mine = f"{_name(pwd.getpwuid, now.st_uid)}:{_name(grp.getgrgid, now.st_gid)}"
            words = f"{path}: belongs to {whose}, and would become yours, {mine}, when it is replaced"
            raise FloorError(f"{words}; do this as its owner, or give it to yourself first (chown)") from error
    os.fchmod(handle, stat.S_IMODE(seen.st_mode))


def _name(find: Callable[[int], Any], number: int) -> str:
    """The name of a user or group, its number where it has none here."""
    try:
        return str(find(number)[0])
    except KeyError:
        return str(number)
