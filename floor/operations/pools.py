"""Waiting for a backend to come into a proxy box's pool, or to be out of it for good."""

from __future__ import annotations

from floor.config.model import ResolvedCopy
from floor.operations.site import Site

POLL_SECONDS = 0.5
CALL_SECONDS = 20.0  # how long one call may keep its answer back


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
