"""`python -I -m floor.group`: the service that watches over the parts of groups on this box."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from floor.box import paths
from floor.box.notify import Notifier
from floor.errors import FloorError

from .service import Service
from .settings import load


def main(argv: Sequence[str] | None = None) -> int:
    """Given the arguments, run the service until SIGTERM. Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m floor.group", description=__doc__)
    parser.add_argument("--root", type=Path, default=paths.ROOT, help="folder that all paths lie below (default: /)")
    options = parser.parse_args(argv)
    try:
        service = Service(load(options.root), options.root, _log)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: service.stop())
        service.run(Notifier())
    except FloorError as error:
        _log(f"floor-group: {error}")
        return error.exit_code
    return 0


def _log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
