"""Tells when something in a folder has changed, without looking again and again: the kernel's inotify(7).

Files of floor's are renamed into their place (floor.box.files), so that is what is watched for.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

IN_MOVED_TO = 0x80  # sys/inotify.h
IN_NONBLOCK, IN_CLOEXEC = os.O_NONBLOCK, os.O_CLOEXEC


class Changes:
    """Watches a folder. `descriptor` can be read when a file was renamed into it; None where nothing can be watched,
    as without a folder or a kernel that takes it. Whoever relies on it looks now and then all the same."""

    def __init__(self, folder: Path) -> None:
        self.descriptor: int | None = None
        library = ctypes.CDLL(None, use_errno=True)
        try:
            made = library.inotify_init1(IN_NONBLOCK | IN_CLOEXEC)
        except AttributeError:  # not Linux
            return
        if made < 0:
            return
        if library.inotify_add_watch(made, os.fsencode(folder), IN_MOVED_TO) < 0:
            os.close(made)
            return
        self.descriptor = made

    def take(self) -> None:
        """Forget what has changed until now."""
        if self.descriptor is not None:
            try:
                while os.read(self.descriptor, 65536):
                    pass
            except BlockingIOError:
                return

    def close(self) -> None:
        """Watch no more."""
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None
