"""`python -I -m floor.metrics`: the service."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from floor.box import paths
from floor.box.key_file import keys
from floor.box.notify import Notifier
from floor.errors import FloorError
from floor.healthcheck.client import make_client

from . import settings
from .here import Here
from .service import Service


def main(argv: Sequence[str] | None = None) -> int:
    """Given the arguments, serve until SIGTERM. Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m floor.metrics", description=__doc__)
    parser.add_argument("--root", type=Path, default=paths.ROOT, help="folder that all paths lie below (default: /)")
    options = parser.parse_args(argv)
    try:
        wanted = settings.load(paths.under(options.root, paths.METRICS_SETTINGS))
        asyncio.run(_serve(wanted, options.root))
    except FloorError as error:
        _log(f"floor-metrics: {error}")
        return error.exit_code
    return 0


async def _serve(wanted: settings.Settings, root: Path) -> None:
    engine_keys, status_keys = keys(wanted.key_file, root), keys(wanted.status_key_file, root)
    service = Service(wanted, engine_keys, Here(wanted, root), make_client(), root, _log, status_keys=status_keys)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, service.stop)
    await service.run(Notifier())


def _log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
