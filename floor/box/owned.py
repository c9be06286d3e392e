"""Which paths floor may write, and how it gets there without following anybody's link."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from floor.box import paths
from floor.errors import FloorError, RefusedError

FOLDERS = (paths.ETC, paths.LIB, paths.RUN)
# Written by their own calls only: a list of files must not carry a key, forge a lease, or lose what undoes a take-over.
KEPT = (paths.SECRETS, paths.OPERATION, paths.LOCK, paths.WORK, paths.TAKEN_OVER)


def check(path: str) -> Path:
    """Given an absolute path, return it when it lies where floor owns everything.

    Raises RefusedError for any other path, for `..` in it, and for secrets and the operation record.
    """
    pure = Path(path)
    allowed = (
        "/etc/floor, /var/lib/floor, /run/floor, /etc/systemd/system/floor* and /etc/needrestart/conf.d/floor.conf"
    )
    if not pure.is_absolute() or ".." in pure.parts or "\0" in path or str(pure) != path:
        raise RefusedError(f"{path!r}: not a plain absolute path; floor writes only below {allowed}")
    if any(pure == kept or kept in pure.parents for kept in KEPT):
        raise RefusedError(f"{path}: is written by its own call only, not as a file")
    unit = paths.UNITS in pure.parents and pure.relative_to(paths.UNITS).parts[0].startswith("floor")
    if not (unit or pure == paths.NEEDRESTART or any(folder in pure.parents for folder in FOLDERS)):
        raise RefusedError(f"{path}: not floor's; floor writes only below {allowed}")
    return pure


@contextmanager
def folder(path: Path, root: Path, *, create: bool) -> Iterator[int | None]:
    """Given a file's absolute path, yield a descriptor of its folder, opened step by step without following links.

    Missing folders are made (0755) if `create`, else None is yielded. Raises RefusedError where a step is a link.
    """
    here = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    done = Path("/")
    try:
        for part in path.parts[1:-1]:
            done /= part
            step = _step(here, part, done, create=create)
            os.close(here)
            here = -1
            if step is None:
                yield None
                return
            here = step
        yield here
    finally:
        if here >= 0:
            os.close(here)


def _step(here: int, part: str, done: Path, *, create: bool) -> int | None:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(part, flags, dir_fd=here)
    except FileNotFoundError:
        if not create:
            return None
    except NotADirectoryError:  # what a link gives with O_DIRECTORY and O_NOFOLLOW, and a plain file as well
        raise RefusedError(f"{done}: is a link or a file where a folder must be; floor follows no link there") from None
    except PermissionError:
        raise FloorError(f"{done}: cannot be opened by user {os.geteuid()}; the agent runs as root") from None
    with suppress(FileExistsError):  # another call made it meanwhile
        os.mkdir(part, 0o755, dir_fd=here)
    return os.open(part, flags, dir_fd=here)
