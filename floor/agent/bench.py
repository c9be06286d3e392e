"""`python -I -m floor.agent.bench ORDER`: measures one level of load on a copy, and prints what it came to."""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import random
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from floor.bench import load
from floor.bench.ask import ask
from floor.bench.level import Level, Record, to_json
from floor.bench.traffic import Request, numbered
from floor.box import paths

SILENT = 300.0  # seconds without a byte after which a request has failed


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
    key = None
    if order["key"]:
        key = paths.under(options.root, paths.ENGINE_KEY).read_text().strip()
    print(json.dumps({"level": to_json(asyncio.run(measure(order, key)))}), flush=True)
    return 0


async def measure(order: Mapping[str, Any], key: str | None) -> Level:
    """Given the order and the engine key, return the level."""
    requests = [Request(one["path"], one["body"]) for one in order["requests"]]
    numbers = itertools.count(order["first"])
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx.AsyncClient(headers=headers, limits=limits, trust_env=False) as client:

        async def send(number: int) -> Record:
            request = numbered(requests, number)
            return await ask(client, order["url"], order["model"], request, clock=time.monotonic, within=SILENT)

        if order["open"]:
            return await load.open_(send, order["at"], order["seconds"], time.monotonic, random.expovariate, numbers)
        return await load.closed(send, int(order["at"]), order["seconds"], time.monotonic, numbers)


if __name__ == "__main__":
    sys.exit(main())
