"""`python -I -m floor.pool`: the service. `--empty`: only make a members file that nginx can start with."""

from __future__ import annotations

import argparse
import asyncio
import logging
import shlex
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from floor.box import paths
from floor.box.key_file import keys
from floor.box.notify import Notifier
from floor.errors import FloorError

from . import front, settings
from .nginx import JOB, RELOAD, Processes, reload_by
from .service import Service
from .world import World


def main(argv: Sequence[str] | None = None) -> int:
    """Given the arguments, run the service until SIGTERM, or do the one thing asked for. Return the exit code."""
    options = _options(argv)
    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    try:
        wanted = settings.load(paths.under(options.root, paths.POOL_SETTINGS))
        if options.empty:
            front.ensure(wanted.pools, options.root)
        else:
            nginx = Processes(paths.under(options.root, paths.NGINX_PID))
            argv = shlex.split(options.reload)
            reload = reload_by(argv, nginx.hang_up, job=JOB if argv == list(RELOAD) else None)
            asyncio.run(_serve(wanted, World(options.root, reload, _log)))
    except FloorError as error:
        _log(f"floor-pool: {error}")
        return error.exit_code
    except Exception as error:  # the last line of defence: a person sees one line, systemd starts us anew
        _log(f"floor-pool: a fault of floor's own, please report it: {_where(error)}")
        return 1
    return 0


def _where(error: BaseException) -> str:
    """Return what was raised and where, on one line."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
    return f"{error!r:.300} at {place}"


async def _serve(wanted: settings.Settings, world: World) -> None:
    keyed = any(backend.key for backend in wanted.backends)
    engine_keys = keys(wanted.key_file, world.root) if keyed else ()
    asked = bool(wanted.proxies) or any(backend.status_url is not None for backend in wanted.backends)
    status_keys = keys(wanted.status_key_file, world.root) if asked else ()
    service = Service(wanted, engine_keys, status_keys, world)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, service.stop)
    await service.run(Notifier())


def _log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m floor.pool", description=__doc__)
    parser.add_argument("--empty", action="store_true", help="make a members file that nginx can start with, and end")
    parser.add_argument("--root", type=Path, default=paths.ROOT, help="folder that all paths lie below (default: /)")
    parser.add_argument("--reload", default=shlex.join(RELOAD), help="command that makes nginx read its files again")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
