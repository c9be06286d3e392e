"""What every service of ours that works until SIGTERM begins with: its arguments, its signals, and words for errors."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from floor.box import paths
from floor.box.notify import Notifier
from floor.errors import FloorError

Log = Callable[[str], None]


class Service(Protocol):
    """Something that runs until it is stopped, and tells systemd how it is."""

    def run(self, notifier: Notifier) -> None: ...

    def stop(self) -> None: ...


def main(name: str, about: str | None, make: Callable[[Path, Log], Service], argv: Sequence[str] | None = None) -> int:
    """Given the name of a package below floor, what its `--help` says and how its service is made from the root of all
    paths and where log lines go, run it until SIGTERM. Return the exit code; a FloorError is told in words."""
    parser = argparse.ArgumentParser(prog=f"python -m floor.{name}", description=about)
    parser.add_argument("--root", type=Path, default=paths.ROOT, help="folder that all paths lie below (default: /)")
    options = parser.parse_args(argv)
    try:
        service = make(options.root, log)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: service.stop())
        service.run(Notifier())
    except FloorError as error:
        log(f"floor-{name}: {error}")
        return error.exit_code
    return 0


def log(text: str) -> None:
    """Write one line to the journal."""
    print(text, file=sys.stderr, flush=True)
