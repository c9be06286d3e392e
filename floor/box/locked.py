"""One writer at a time for a file that is replaced whole: a lock file beside it, held with flock(2)."""

from __future__ import annotations

import fcntl
import grp
import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from floor.errors import FloorError


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Given the file to guard, hold `NAME.lock` beside it until the block ends; the kernel lets go if the process dies.

    A file that is replaced cannot carry its own lock: whoever waits would hold the old one. Raise FloorError if the
    folder is missing or may not be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(
            path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
        )
    except OSError as error:
        raise FloorError(
            f"{path}: cannot be locked ({error.strerror}); `floor setup` makes its folder, root writes it"
        ) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def mine() -> str:
    """Return this process's own `user:group`, for a file that belongs to whoever writes it (root on a box)."""
    return f"{pwd.getpwuid(os.geteuid()).pw_name}:{grp.getgrgid(os.getegid()).gr_name}"
