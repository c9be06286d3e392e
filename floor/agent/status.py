"""`python -I -m floor.agent.status`: the read-only status port of a box, what other boxes may know of it.

`GET /status` with the boxes' status key: units, drains and the operation's lease; `GET /box` tells more, for people.
Nothing can be changed.
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

from floor.agent.status_facts import Facts, Part
from floor.agent.status_http import Port
from floor.agent.status_view import View
from floor.box import paths
from floor.box.document import Document
from floor.box.key_file import keys
from floor.box.notify import Notifier
from floor.errors import FloorError

BIND_EVERY = 1.0  # seconds between two tries to listen, while the box's own address is not up yet
ALIVE_EVERY = 5.0  # seconds between two signs of life to systemd, unless it asks for more


@dataclass(frozen=True)
class Settings:
    """Where to listen (the box's own address first), which keys open it (two while the key is being replaced), the
    units that are told of, and the parts of groups among them."""

    listen: tuple[str, ...]
    port: int
    keys: tuple[str, ...]
    units: tuple[str, ...]
    groups: tuple[Part, ...] = ()


def load(root: Path = paths.ROOT) -> Settings:
    """Given the root of all paths, read /etc/floor/agent.json and the key. Raise FloorError saying what is wrong."""
    document = Document.load(paths.under(root, paths.AGENT_SETTINGS))
    opening = keys(document.path("key_file"), root, "status key")
    fabric = (document.text("fabric"),) if document.has("fabric") else ()
    groups = document.list("groups") if document.has("groups") else []
    return Settings(
        listen=(document.text("listen"), *fabric),
        port=document.port("port"),
        keys=opening,
        units=document.texts("units"),
        groups=tuple(Part(one.text("model"), one.text("part"), one.text("unit")) for one in groups),
    )


async def serve(settings: Settings, root: Path, notifier: Notifier) -> None:
    """Answer until SIGTERM. An address that is not up yet is waited for, and said once."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    # Ready before it listens: a box's start must not wait for its network.
    notifier.ready(f"waiting for {settings.listen[0]}")
    units = dict.fromkeys([*settings.units, *(one.unit for one in settings.groups)])
    facts = Facts(tuple(units), root, time.monotonic, groups=settings.groups)
    port = Port(settings.keys, facts, {"/box": View(facts, root)})
    servers = [asyncio.create_task(_listen(address, settings.port, port, notifier)) for address in settings.listen]
    while not stop.is_set() and not any(server.done() for server in servers):
        notifier.alive()
        await _sleep(stop, min(ALIVE_EVERY, notifier.watchdog_every or ALIVE_EVERY))
    notifier.stopping()
    for server in servers:
        if server.done():
            server.result()
        server.cancel()
    await asyncio.gather(*servers, return_exceptions=True)


async def _listen(address: str, number: int, port: Port, notifier: Notifier) -> None:
    """Answer on one address. Each waits for itself: a fabric that is down takes nothing from the box's own address."""
    said = ""
    while True:
        try:
            server = await asyncio.start_server(port.answer, address, number, limit=port.head_limit, reuse_address=True)
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else error  # asyncio's own words repeat the address
            words = f"{address}:{number}: cannot listen yet ({why}); trying again"
            if words != said:
                _log(f"floor-agent: {words}")
            said = words
            await asyncio.sleep(BIND_EVERY)
        else:
            break
    if said:
        _log(f"floor-agent: {address}:{number}: listening")
    notifier.alive(f"listening on {address}:{number}")
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
