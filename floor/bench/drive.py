"""One level of load on an address, with real requests and the machine's clock."""

from __future__ import annotations

import asyncio
import itertools
import random
import ssl
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import httpx

from floor.errors import UsageError

from . import load
from .ask import ask
from .level import Level, Record
from .traffic import Request, numbered

PATIENCE = 1800.0  # seconds beyond the level's own that an answer may take: floor.yaml's request_time by default
SILENT = 300.0  # seconds without a byte after which a request has failed


def make_client(key: str | None, certificate: Path | None = None) -> httpx.AsyncClient:
    """Given the key that is asked for there, if any, and the file with the certificate that is shown there, where no
    authority of this machine made it, return a client that has as many connections as it takes. Raise UsageError for a
    file that holds no certificate."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    return httpx.AsyncClient(headers=headers, limits=limits, verify=_trusted(certificate), trust_env=False)


def _trusted(certificate: Path | None) -> ssl.SSLContext | bool:
    """Whom to believe: that very certificate under whatever name, as a proxy is asked by its address."""
    if certificate is None:
        return True
    try:
        context = ssl.create_default_context(cafile=str(certificate))
    except (OSError, ssl.SSLError) as error:
        raise UsageError(f"--certificate {certificate}: cannot be read as a certificate: {error}") from None
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # it need not be an authority's own
    return context


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
        request, began = numbered(requests, number), time.monotonic()
        try:
            async with asyncio.timeout(seconds + PATIENCE):
                return await ask(client, url, model, request, clock=time.monotonic, within=SILENT)
        except TimeoutError:
            return Record(began, time.monotonic(), error=f"no end of the answer after {seconds + PATIENCE:.0f} s")

    began, worked = time.monotonic(), time.process_time()
    if open_loop:
        found = await load.open_(send, at, seconds, time.monotonic, random.expovariate, numbers)
    else:
        found = await load.closed(send, int(at), seconds, time.monotonic, numbers)
    return replace(found, busy=(time.process_time() - worked) / (time.monotonic() - began))
