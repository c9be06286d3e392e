"""`python -I -m floor.agent.bench ORDER`: measures one level of load on a copy, and prints what it came to."""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from floor.agent import engine_key
from floor.bench import drive
from floor.bench.level import Level, to_json
from floor.bench.traffic import Request
from floor.box import paths


def main(argv: Sequence[str] | None = None) -> int:
    """Given the arguments, carry out the order that lies in the file named, which is removed. Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m floor.agent.bench", description=__doc__)
    parser.add_argument("--root", type=Path, default=paths.ROOT, help="folder that all paths lie below (default: /)")
    parser.add_argument("order", type=Path)
    options = parser.parse_args(argv)
    place = paths.under(options.root, options.order)
    try:
        order = json.loads(place.read_text())
    finally:
        place.unlink(missing_ok=True)
    key = engine_key.taken(order["url"], options.root) if order["key"] else None
    print(json.dumps({"level": to_json(asyncio.run(measure(order, key)))}), flush=True)
    return 0


async def measure(order: Mapping[str, Any], key: str | None) -> Level:
    """Given the order and the engine key, return the level."""
    requests = [Request(one["path"], one["body"], one.get("numbered", False)) for one in order["requests"]]
    numbers, where = itertools.count(order["first"]), (order["url"], order["model"])
    async with drive.make_client(key) as client:
        at, seconds, open_loop = order["at"], order["seconds"], order["open"]
        return await drive.level(client, *where, requests, at, seconds, open_loop=open_loop, numbers=numbers)


if __name__ == "__main__":
    sys.exit(main())
