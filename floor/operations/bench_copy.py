"""`floor bench --copy`: one copy, out of every pool for as long as it is measured, asked from a proxy box."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from floor.bench import run
from floor.bench.level import Level, from_json
from floor.config.model import ResolvedCopy
from floor.errors import BoxError, FloorError, UsageError
from floor.operations.apart import apart, look, running
from floor.operations.bench import Plan, former, kept, repeated, worded
from floor.operations.drain import Say
from floor.operations.lease import Lease
from floor.operations.site import Site

MOST = 12 * 1024 * 1024  # bytes of requests; a call to a box has room for 16 MiB


def measure(site: Site, copy: ResolvedCopy, plan: Plan, place: Path, say: Say, *, last: bool) -> tuple[run.Run, str]:
    """Take `copy` out of every pool, carry out the plan against it, going on with what `place` holds, and let it in
    again. Return the run and why it stopped early.

    Raise as `apart.look`, `apart.running` and `apart.apart` do.
    """
    found = former(plan, place, say)
    if run.due(found, plan.levels) is None:
        return found, run.stop(found.levels)
    requests = _carried(plan)
    asked_from = _from(site, copy)
    first = int(time.time()) % 1_000_000 * 1000  # no prompt is one of an earlier run
    aim = look(site, copy)
    if copy.managed:
        running(aim, copy)
    with apart(site, aim, copy, "bench", say, last=last) as lease:
        while (at := run.due(found, plan.levels)) is not None:
            say(f"{plan.words(at)}, from {asked_from}")
            _held(lease, place)
            level = _level(site, asked_from, copy, plan, requests, at, first)
            _held(lease, place)  # lost meanwhile, pools may have sent requests, too
            first += max(level.requests, 1)
            found = kept(found, level, place, say)
    repeated(plan, found, say)
    return found, worded(run.stop(found.levels), open_loop=plan.open_loop)


def _held(lease: Lease, place: Path) -> None:
    if lease.lost.is_set():
        raise FloorError(f"{lease.reason}; what was measured before is kept in {place}")


def _from(site: Site, copy: ResolvedCopy) -> str:
    """The proxy box to send from: not the copy's own where there is another, whose processors it would take."""
    proxies = site.loaded.config.proxy.boxes
    return next((box for box in proxies if box != copy.box), proxies[0])


def _carried(plan: Plan) -> list[dict[str, Any]]:
    """The requests as a box is sent them. Raise UsageError where that is more than one call carries."""
    found = [{"path": one.path, "body": dict(one.body), "numbered": one.numbered} for one in plan.requests]
    size = len(json.dumps(found))
    if size > MOST:
        raise UsageError(
            f"{plan.traffic}: holds {size / 2**20:.0f} MiB of requests; a box is sent at most {MOST // 2**20} MiB "
            "with --copy: leave some out"
        )
    return found


def _level(
    site: Site, box: str, copy: ResolvedCopy, plan: Plan, requests: list[dict[str, Any]], at: float, first: int
) -> Level:
    order = {"url": plan.url, "model": plan.model, "key": copy.key, "requests": requests, "first": first}
    found: Level | None = None
    for line in site.boxes[box].stream(
        "bench.level", {**order, "at": at, "seconds": plan.seconds, "open": plan.open_loop}
    ):
        with suppress(ValueError, KeyError, TypeError):
            found = from_json(json.loads(line)["level"])
    if found is not None:
        return found
    raise BoxError(f"{box}: the measurement ended without a result; `floor logs` of {copy.backend} may tell why")
