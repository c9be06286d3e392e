"""One level of `floor bench` against a copy: from here, because this box is admitted to it and has its key."""

from __future__ import annotations

import json
import secrets
import sys
from typing import Any

from floor.agent.call import Call, Stream
from floor.box import files, paths
from floor.box.locked import mine
from floor.errors import UsageError

MOST = 4096  # requests at once


def level(call: Call) -> Stream:
    """{url, model, key: bool, requests: [{path, body, numbered}], at, seconds, open: bool, first: number of the first
    request} → {} and then one line of JSON: {level: …}, or {error: …}. It ends when the caller closes stdin."""
    params = call.params
    if not 0 < params.number("at", 1.0) <= MOST:
        raise UsageError(f"bench.level: at: must be above 0 and at most {MOST}")
    if not params.flag("open") and not params.number("at", 1.0).is_integer():
        raise UsageError("bench.level: at: must be whole, but of an open loop")
    order: dict[str, Any] = {
        "url": params.text("url"),
        "model": params.text("model"),
        "key": params.flag("key"),
        "requests": params.values["requests"],
        "at": params.number("at", 1.0),
        "seconds": params.number("seconds", 60),
        "open": params.flag("open"),
        "first": params.whole("first", 0),
    }
    # By a file: somebody's own requests may be long, and are nobody else's business.
    place = paths.BENCH_RUN / f"{secrets.token_hex(8)}.json"
    files.write(place, json.dumps(order), mode=0o600, owner=mine(), root=call.root)
    argv = [sys.executable, "-I", "-m", "floor.agent.bench", "--root", str(call.root), str(place)]
    return Stream(argv, follow=True)
