"""`python -I -m floor.guard`: the service. It locks itself into memory, so that it can act when there is none."""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from floor.box import paths, service

from . import settings
from .sampler import Sampler
from .service import Service

MCL_CURRENT, MCL_FUTURE = 1, 2  # mlockall(2)


def lock() -> str:
    """Keep every page of this process in memory. Return what kept from it, empty where nothing did."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mlockall(MCL_CURRENT | MCL_FUTURE):
        return f"cannot lock its memory ({os.strerror(ctypes.get_errno())}); short of memory it may be slow"
    return ""


def main(argv: Sequence[str] | None = None) -> int:
    """Given the arguments, guard until SIGTERM. Return the exit code."""
    return service.main("guard", __doc__, _made, argv)


def _made(root: Path, log: service.Log) -> Service:
    wanted = settings.load(paths.under(root, paths.GUARD_SETTINGS))
    made = Service(wanted, Sampler(wanted, root, time.monotonic), root, log)
    if why := lock():
        log(f"floor-guard: {why}")
    return made


if __name__ == "__main__":
    sys.exit(main())
