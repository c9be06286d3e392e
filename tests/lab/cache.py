"""A cache outside the repository: root file systems, engine environments and models that take a minute to make.

An entry is a folder `NAME-HASH`; the hash covers all that it is made from, so a change makes a new one. It is built
under another name and renamed, so that a run that was killed leaves nothing that looks complete.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

KEPT = 7 * 24 * 3600.0  # seconds without use after which an entry is removed: each is some 100 MB, vLLM 3.4 GB


def cache_folder() -> Path:
    """Return the cache's folder, made if need be: FLOOR_LAB_CACHE, or ~/.cache/floor-lab."""
    folder = Path(os.environ.get("FLOOR_LAB_CACHE") or Path.home() / ".cache" / "floor-lab")
    folder.mkdir(parents=True, exist_ok=True)
    return folder.resolve()


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file `path` exclusively; it is released when the process ends, however it ends."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def cached(name: str, made_from: str, build: Callable[[Path], None]) -> Path:
    """Return the folder `NAME-HASH` of the cache, calling `build` with an empty folder if there is none yet.

    `made_from` is everything the content depends on, as text. What `build` raises is passed on and leaves no entry.
    """
    digest = hashlib.sha256(made_from.encode()).hexdigest()[:12]
    folder = cache_folder() / f"{name}-{digest}"
    with locked(cache_folder() / f"{name}.lock"):
        if not folder.is_dir():
            partial = folder.with_name(f"{folder.name}.partial")
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir()
            build(partial)
            partial.rename(folder)
        os.utime(folder)
        for old in cache_folder().glob(f"{name}-*"):
            if time.time() - old.stat().st_mtime > KEPT:
                shutil.rmtree(old)
    return folder
