"""Waiting for a backend to come into a proxy box's pool, or to be out of it for good."""

from __future__ import annotations

from floor.config.model import ResolvedCopy
from floor.errors import FloorError
from floor.operations.site import Site

SECONDS = 15.0  # in which a pool that is well takes a backend in, or lets it go
POLL_SECONDS = 0.5
CALL_SECONDS = 20.0  # how long one call may keep its answer back


def demand(site: Site, proxy: str, copy: ResolvedCopy, *, member: bool) -> None:
    """Wait as `wait` does. Raise FloorError where the pool does not come to it within SECONDS."""
    if why := wait(site, proxy, copy, member=member, seconds=SECONDS):
        where = "into" if member else "out of"
        what = f"{copy.backend} did not come {where} {proxy}'s pool within {SECONDS:.0f} s"
        raise FloorError(f"{what}: {why}; see `floor status`")


def wait(site: Site, proxy: str, copy: ResolvedCopy, *, member: bool, seconds: float) -> str:
    """Wait up to `seconds` until the pool of `proxy` has `copy`, or has it no more and no worker of nginx sends to it.

    Return "" once it is so, else the box's own words for why it is not. Raise BoxError where the box does not answer.
    """
    params = {"model": copy.model, "backend": copy.backend, "member": member}
    ends = site.clock() + seconds
    while True:
        left = max(0.0, min(CALL_SECONDS, ends - site.clock()))
        answer = site.boxes[proxy].call("pool.wait", {**params, "timeout": left})
        if answer["reached"]:
            return ""
        if site.clock() >= ends:
            return str(answer["reason"])
        site.sleep(POLL_SECONDS)
