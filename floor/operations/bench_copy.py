"""`floor bench --copy`: one copy, out of every pool for as long as it is measured, asked from a proxy box."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from floor.bench import run
from floor.bench.level import Level, from_json
from floor.config.hosts import netloc
from floor.config.model import ResolvedCopy
from floor.errors import BoxError, FloorError
from floor.operations import drain, pools
from floor.operations.bench import Plan, kept
from floor.operations.caller import name
from floor.operations.lease import Lease
from floor.operations.site import Site
from floor.plan.abandoned import BENCH, digest

Say = Callable[[str], None]
AHEAD = 15.0  # seconds for a pool to let go of the copy


def find(site: Site, word: str) -> ResolvedCopy:
    """Given a backend's name, or a box's where only one backend is on it, return the copy. Raise UsageError."""
    return drain.find(site, word)


def address(site: Site, copy: ResolvedCopy) -> str:
    """Where the copy itself answers."""
    host = site.loaded.config.boxes[copy.box].host
    return copy.url or f"http://{netloc(site.resolve(host) or host, copy.port)}"


def measure(site: Site, copy: ResolvedCopy, plan: Plan, place: Path, say: Say, *, last: bool) -> tuple[run.Run, str]:
    """Take `copy` out of every pool, carry out the plan against it, going on with what `place` holds, and let it in
    again. Return the run and why it stopped early.

    Raise RefusedError where it is the only member and `last` is not given, BusyError where somebody holds the boxes.
    Whatever happens to this process, the pools have it again when the hold on the boxes lapses.
    """
    found = run.former(place, dict(plan.setting))
    if run.due(found, plan.levels) is None:
        return found, run.stop(found.levels)
    asked_from = _from(site, copy)
    first = int(time.time()) % 1_000_000 * 1000  # no prompt is one of an earlier run
    with _out(site, copy, say, last=last) as lease:
        while (at := run.due(found, plan.levels)) is not None:
            say(f"measuring {at:g} at once for {plan.seconds:g} s, from {asked_from}")
            if lease.lost.is_set():
                raise FloorError(f"{lease.reason}; what was measured is kept in {place}")
            level = _level(site, asked_from, copy, plan, at, first)
            first += max(level.requests, 1)
            found = kept(found, level, place, say)
    return found, run.stop(found.levels)


def _from(site: Site, copy: ResolvedCopy) -> str:
    """The proxy box to send from: not the copy's own where there is another, whose processors it would take."""
    proxies = site.loaded.config.proxy.boxes
    return next((box for box in proxies if box != copy.box), proxies[0])


def _level(site: Site, box: str, copy: ResolvedCopy, plan: Plan, at: float, first: int) -> Level:
    requests = [{"path": one.path, "body": dict(one.body)} for one in plan.requests]
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


@contextmanager
def _out(site: Site, copy: ResolvedCopy, say: Say, *, last: bool) -> Iterator[Lease]:
    """The copy out of every pool and idle, under a lease."""
    aim = site.observe()
    if aim.absent:
        raise BoxError("not every box answers:\n" + "\n".join(aim.absent.values()))
    params = {"backend": copy.backend, "holder": f"bench by {name()}"}
    proxies = site.loaded.config.proxy.boxes
    with Lease(site, aim.seen, BENCH, {"copy": copy.backend}, digest(site.loaded.text)) as lease:
        try:
            for proxy in proxies:
                site.boxes[proxy].call("drain.add", {**params, "epoch": lease.epoch, "last": last})
            for proxy in proxies:
                _pool(site, proxy, copy, member=False)
            say(f"{copy.backend} is out of every pool")
            if copy.managed:
                drain.idle(site, copy, say)
            yield lease
        except KeyboardInterrupt:
            lease.state = "interrupted"
            raise
        finally:
            for proxy in proxies:
                with suppress(BoxError):  # it ends with the lease at the latest
                    site.boxes[proxy].call("drain.remove", {**params, "epoch": lease.epoch})
        for proxy in proxies:
            _pool(site, proxy, copy, member=True)
        say(f"{copy.backend} is in every pool")
        lease.state = "done"


def _pool(site: Site, proxy: str, copy: ResolvedCopy, *, member: bool) -> None:
    if why := pools.wait(site, proxy, copy, member=member, seconds=AHEAD):
        way = "into" if member else "out of"
        raise FloorError(f"{copy.backend} did not come {way} {proxy}'s pool within {AHEAD:.0f} s: {why}")
