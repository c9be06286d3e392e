"""What the copies do now, asked from this proxy box: it is admitted to every engine, and has the key."""

from __future__ import annotations

import asyncio
from typing import Any

from floor.agent.call import Call
from floor.box import paths
from floor.box.key_file import keys
from floor.metrics.settings import Backend

APART = 2.0  # seconds between the two looks that rates are made of
LONGEST = 15.0


def read(call: Call) -> dict[str, Any]:
    """{seconds} → what `floor metrics --json` prints (floor.metrics.report) of each copy that this box's pool knows."""
    from floor.metrics.once import once
    from floor.pool import settings

    known = settings.load(paths.under(call.root, paths.POOL_SETTINGS))
    backends = [
        Backend(one.name, one.url, one.box, pool.model, one.dialect, one.key)
        for pool in known.pools
        for one in pool.backends
    ]
    apart = min(call.params.number("seconds", APART), LONGEST)
    return asyncio.run(once(backends, keys(known.key_file, call.root), apart))
