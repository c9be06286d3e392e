"""`python -I -m floor.agent.status`: the read-only status port of a box, what other boxes may know of it.

One question, `GET /status` with the boxes' status key: units, drains and the operation's lease. Nothing can be changed.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from floor.agent.status_facts import Facts
from floor.agent.status_http import Port
from floor.box import paths
from floor.box.document import Document
from floor.box.notify import Notifier
from floor.errors import FloorError

BIND_EVERY = 1.0  # seconds between two tries to listen, while the box's own address is not up yet
ALIVE_EVERY = 5.0  # seconds between two signs of life to systemd, unless it asks for more


@dataclass(frozen=True)
class Settings:
    """Where to listen, which keys open it (two while the key is being replaced), and the units that are told of."""

    listen: str
    port: int
    keys: tuple[str, ...]
    units: tuple[str, ...]


def load(root: Path = paths.ROOT) -> Settings:
    """Given the root of all paths, read /etc/floor/agent.json and the key. Raise FloorError saying what is wrong."""
    document = Document.load(paths.under(root, paths.AGENT_SETTINGS))
    place = paths.under(root, document.path("key_file"))
    following = place.with_suffix(".next")
    keys = tuple(_key(one) for one in (place, following) if one == place or one.exists())
    return Settings(document.text("listen"), document.port("port"), keys, document.texts("units"))


def _key(place: Path) -> str:
    try:
        key = place.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise FloorError(f"{place}: the status key cannot be read ({error}); `floor deploy` makes it") from error
    if not key:
        raise FloorError(f"{place}: the status key is empty; remove the file, `floor deploy` makes a new one")
    return key


async def serve(settings: Settings, root: Path, notifier: Notifier) -> None:
    """Answer until SIGTERM. An address that is not up yet is waited for, and said once."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    # Ready before it listens: a box's start must not wait for its network.
    notifier.ready(f"waiting for {settings.listen}")
    port = Port(settings.keys, Facts(settings.units, root, time.monotonic))
    server = asyncio.create_task(_listen(settings, port, notifier))
    while not stop.is_set() and not server.done():
        notifier.alive()
        await _sleep(stop, min(ALIVE_EVERY, notifier.watchdog_every or ALIVE_EVERY))
    notifier.stopping()
    if server.done():
        server.result()
    server.cancel()
    await asyncio.gather(server, return_exceptions=True)


async def _listen(settings: Settings, port: Port, notifier: Notifier) -> None:
    said = ""
    while True:
        try:
            server = await asyncio.start_server(
                port.answer, settings.listen, settings.port, limit=port.head_limit, reuse_address=True
            )
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else error  # asyncio's own words repeat the address
            words = f"{settings.listen}:{settings.port}: cannot listen yet ({why}); trying again"
            if words != said:
                _log(f"floor-agent: {words}")
            said = words
            await asyncio.sleep(BIND_EVERY)
        else:
            break
    if said:
        _log(f"floor-agent: {settings.listen}:{settings.port}: listening")
    notifier.alive(f"listening on {settings.listen}:{settings.port}")
    async with server:
        await server.serve_forever()


async def _sleep(stop: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(stop.wait(), seconds)
    except TimeoutError:
        return


def _log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Given the arguments, serve until SIGTERM. Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m floor.agent.status", description=__doc__)
    parser.add_argument("--root", type=Path, default=paths.ROOT, help="folder that all paths lie below (default: /)")
    options = parser.parse_args(argv)
    try:
        asyncio.run(serve(load(options.root), options.root, Notifier()))
    except FloorError as error:
        _log(f"floor-agent: {error}")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
