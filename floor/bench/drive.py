"""One level of load on an address, with real requests and the machine's clock."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Sequence

import httpx

from . import load
from .ask import ask
from .level import Level, Record
from .traffic import Request, numbered

SILENT = 300.0  # seconds without a byte after which a request has failed


def make_client(key: str | None) -> httpx.AsyncClient:
    """Given the key that is asked for there, if any, return a client that has as many connections as it takes."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    return httpx.AsyncClient(headers=headers, limits=limits, trust_env=False)


async def level(
    client: httpx.AsyncClient,
    url: str,
    model: str,
    requests: Sequence[Request],
    at: float,
    seconds: float,
    *,
    open_loop: bool,
    numbers: itertools.count[int],
) -> Level:
    """Ask `url` for `model` with `at` requests at once (in an open loop: `at` begun a second) for so many seconds, the
    requests numbered from `numbers`, and return what it came to."""

    async def send(number: int) -> Record:
        request = numbered(requests, number)
        return await ask(client, url, model, request, clock=time.monotonic, within=SILENT)

    if open_loop:
        return await load.open_(send, at, seconds, time.monotonic, random.expovariate, numbers)
    return await load.closed(send, int(at), seconds, time.monotonic, numbers)
