"""`python -I -m floor.guard`: the service. It locks itself into memory, so that it can act when there is none."""

from __future__ import annotations

import argparse
import ctypes
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from floor.box import paths
from floor.box.notify import Notifier
from floor.errors import FloorError

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
    parser = argparse.ArgumentParser(prog="python -m floor.guard", description=__doc__)
    parser.add_argument("--root", type=Path, default=paths.ROOT, help="folder that all paths lie below (default: /)")
    options = parser.parse_args(argv)
    try:
        wanted = settings.load(paths.under(options.root, paths.GUARD_SETTINGS))
        sampler = Sampler(wanted, options.root, time.monotonic)
        service = Service(wanted, sampler, options.root, _log)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: service.stop())
        if why := lock():
            _log(f"floor-guard: {why}")
        service.run(Notifier())
    except FloorError as error:
        _log(f"floor-guard: {error}")
        return error.exit_code
    return 0


def _log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
