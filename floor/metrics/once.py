"""Two looks at every copy, for a command: no service has to run for it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from floor.healthcheck.client import make_client

from .copies import Copy
from .look import look
from .merge import Part, of_models
from .report import compose
from .settings import Backend

WITHIN = 3.0  # seconds that one look may take


async def once(backends: Sequence[Backend], keys: Sequence[str], apart: float) -> dict[str, Any]:
    """Given the copies, the engine keys to try in turn and how many seconds the two looks are to lie apart, return what
    they do now (see `report.compose`). It takes at most `apart` + 2 × WITHIN seconds, whatever a copy does."""
    copies = [Copy(backend) for backend in backends]
    async with make_client() as client:

        async def each(copy: Copy) -> None:
            found = await look(client, copy.backend, keys, copy.reader, clock=time.monotonic, within=WITHIN)
            copy.take(found, time.monotonic())

        async def all_of_them() -> tuple[list[Part], float]:
            await asyncio.gather(*(each(copy) for copy in copies))
            now = time.monotonic()
            return [copy.part(now, WITHIN) for copy in copies], now

        began = time.monotonic()
        before, first = await all_of_them()
        await asyncio.sleep(max(0.0, apart - (time.monotonic() - began)))
        after, second = await all_of_them()
    return compose(copies, before, after, of_models(after), of_models(before), second - first)
