"""`python -I -m floor.metrics.follow`: a line of JSON each second with all that `floor status --watch` shows.

It looks by itself, so that no service has to run for it, and ends when nobody reads it any more.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from floor.box import paths
from floor.box.document import Document
from floor.box.key_file import keys
from floor.errors import FloorError
from floor.healthcheck.client import make_client

from . import settings
from .boxes import Boxes
from .copies import Copy
from .look import look
from .watch import Watch

EVERY = 1.0  # seconds between two lines
LOOKS_EVERY = 2.0  # and between two looks at a copy,
FOR_EACH = 0.1  # or so many for each copy that there is: it is to take little of a core
WITHIN = 2.0


def main(argv: Sequence[str] | None = None) -> int:
    """Given the arguments, print until nobody reads. Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m floor.metrics.follow", description=__doc__)
    parser.add_argument("--root", type=Path, default=paths.ROOT, help="folder that all paths lie below (default: /)")
    parser.add_argument("--name", default="", help="this box's name")
    parser.add_argument("boxes", nargs="*", help="NAME=URL of each box's status port")
    options = parser.parse_args(argv)
    where = dict(one.partition("=")[::2] for one in options.boxes)
    try:
        asyncio.run(follow(options.name, where, options.root))
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except FloorError as error:
        print(json.dumps({"error": str(error)}), flush=True)
        return error.exit_code
    return 0


async def follow(name: str, where: dict[str, str], root: Path) -> None:
    """Given this box's name and where each box's status port is, print a line each second. Raise FloorError where this
    is no proxy box."""
    place = paths.under(root, paths.POOL_SETTINGS)
    known = Document.load(place)
    backends = settings.of_pools(known)
    status_key = known.path("status_key_file") if known.has("status_key_file") else None
    engine_keys = keys(known.path("key_file") if known.has("key_file") else None, root)
    copies = [Copy(one) for one in backends]
    every = max(LOOKS_EVERY, FOR_EACH * len(copies))
    stop = asyncio.Event()
    async with make_client() as client:
        boxes = Boxes(where, keys(status_key, root), client, time.monotonic)
        watch = Watch(name, copies, every, boxes, root)

        async def each(copy: Copy) -> None:
            while not stop.is_set():
                began = time.monotonic()
                found = await look(client, copy.backend, engine_keys, copy.reader, clock=time.monotonic, within=WITHIN)
                copy.take(found, time.monotonic())
                watch.take(copy)
                with suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), max(0.0, every - (time.monotonic() - began)))

        async def tell() -> None:
            try:
                while True:
                    await asyncio.sleep(EVERY)
                    print(json.dumps(watch.document()), flush=True)
            finally:
                stop.set()

        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(watch.run(stop))
                for copy in copies:
                    group.create_task(each(copy))
                group.create_task(tell())
        except* BrokenPipeError:
            raise BrokenPipeError from None


if __name__ == "__main__":
    sys.exit(main())
