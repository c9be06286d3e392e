"""`floor drain` and `floor undrain`: a person takes a backend out of every pool, and lets it in again."""

from __future__ import annotations

import time
from collections.abc import Callable

from floor.config.model import ResolvedCopy
from floor.errors import BoxError, FloorError, UsageError
from floor.operations.lease import caller
from floor.operations.site import Site

Say = Callable[[str], None]
POOL_SECONDS = 15.0


def find(site: Site, name: str) -> ResolvedCopy:
    """Given a backend's name, or a box's where only one backend is on it, return the copy. Raise UsageError."""
    config = site.loaded.config
    copies = [copy for model in config.models for copy in config.copies(model)]
    found = [copy for copy in copies if name in (copy.backend, copy.box)]
    if len(found) != 1:
        known = ", ".join(copy.backend for copy in copies)
        raise UsageError(
            f"{name}: {'several backends are' if found else 'no backend is'} called that; there are {known}"
        )
    return found[0]


def holder() -> str:
    """Under which name a person's drains are kept."""
    who = caller()
    return f"{who['user']}@{who['host']}"


def drain(site: Site, copy: ResolvedCopy, say: Say, *, last: bool) -> None:
    """Take `copy` out of every pool and wait until nothing runs on it.

    Raise RefusedError where it is the only member left and `last` is not given, FloorError where a pool does not
    answer for it.
    """
    done: list[str] = []
    params = {"backend": copy.backend, "holder": holder(), "epoch": None}
    try:
        for proxy in site.loaded.config.proxy.boxes:
            site.boxes[proxy].call("drain.add", {**params, "last": last})
            done.append(proxy)
            _pool(site, proxy, copy, member=False)
    except FloorError:
        for proxy in done:  # drained in one pool only would be neither in nor out
            site.boxes[proxy].call("drain.remove", params)
        raise
    say(f"{copy.backend} is out of every pool")
    _idle(site, copy, say)


def undrain(site: Site, copy: ResolvedCopy, say: Say) -> None:
    """End every drain that a person holds on `copy`, whoever it was, and wait until the pools have it again."""
    for proxy in site.loaded.config.proxy.boxes:
        drains = site.boxes[proxy].call("observe", {})["drains"].get(copy.backend, [])
        for found in drains:
            params = {"backend": copy.backend, "holder": found["holder"], "epoch": found.get("epoch")}
            if found.get("epoch") is None:
                site.boxes[proxy].call("drain.remove", params)
        if not drains:
            say(f"{copy.backend} was not drained on {proxy}")
    for proxy in site.loaded.config.proxy.boxes:
        _pool(site, proxy, copy, member=True)
    say(f"{copy.backend} is in every pool")


def _pool(site: Site, proxy: str, copy: ResolvedCopy, *, member: bool) -> None:
    params = {"model": copy.model, "backend": copy.backend, "member": member, "timeout": POOL_SECONDS}
    answer = site.boxes[proxy].call("pool.wait", params)
    if not answer["reached"]:
        known = (answer.get("state") or {}).get("reason") or "its pool says nothing of it"
        where = "into" if member else "out of"
        raise FloorError(f"{copy.backend} did not come {where} {proxy}'s pool within {POOL_SECONDS:.0f} s: {known}")


def _idle(site: Site, copy: ResolvedCopy, say: Say) -> None:
    if not copy.managed:
        return
    from floor.operations.checks import check_params

    deadline = time.monotonic() + copy.request_time
    while time.monotonic() < deadline:
        try:
            answer = site.boxes[copy.box].call("engine.idle", check_params(site, copy))
        except BoxError as error:
            say(f"{copy.backend}: {error}")
            return
        if answer["idle"]:
            say(f"{copy.backend} has finished what it had")
            return
        time.sleep(1.0)
    say(f"{copy.backend} still works on requests after {copy.request_time:.0f} s")
