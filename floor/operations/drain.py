"""`floor drain` and `floor undrain`: a person takes a backend out of every pool, and lets it in again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from floor.apply.transport import UnreachableError
from floor.config.model import ResolvedCopy
from floor.errors import BoxError, FloorError, RefusedError, UsageError
from floor.operations import caller, pools
from floor.operations.checks import check_params
from floor.operations.site import Site
from floor.plan import holders

Say = Callable[[str], None]
IDLE_POLL = 1.0
IDLE_TIMES = 2  # looks in a row that must find nothing: between two an engine may take up what it was just sent


def find(site: Site, name: str) -> ResolvedCopy:
    """Given a backend's name, or a box's where only one backend is on it, return the copy. Raise UsageError."""
    config, mode = site.loaded.config, site.mode()
    copies = [copy for model in config.models for copy in config.backends(model, mode)]
    found = [copy for copy in copies if name in (copy.backend, copy.box)]
    if len(found) != 1:
        known = ", ".join(copy.backend for copy in copies)
        raise UsageError(
            f"{name}: {'several backends are' if found else 'no backend is'} called that; there are {known}"
        )
    return found[0]


def drain(site: Site, copy: ResolvedCopy, say: Say, *, last: bool) -> None:
    """Take `copy` out of every pool and wait until nothing runs on it.

    Raise RefusedError where it is the only member left and `last` is not given, FloorError where a pool does not let go
    of it; then it is drained nowhere. Raise BoxError, with it drained on the others, where a proxy box does not answer.
    """
    params = {"backend": copy.backend, "holder": caller.name(), "epoch": None}
    tried: list[str] = []
    away: list[str] = []
    try:
        for proxy in site.loaded.config.proxy.boxes:
            tried.append(proxy)
            try:
                site.boxes[proxy].call("drain.add", {**params, "last": last})
                pools.demand(site, proxy, copy, member=False)
            except UnreachableError as error:
                away.append(str(error))
        if len(away) == len(tried):
            raise BoxError("no proxy box answers:\n" + "\n".join(away))
    except FloorError:
        for proxy in tried:  # drained in one pool only would be neither in nor out
            with suppress(BoxError):  # the error that led here is the one to tell
                site.boxes[proxy].call("drain.remove", params)
        raise
    say(f"{copy.backend} is out of every pool" + (" that can be reached" if away else ""))
    if copy.managed:
        idle(site, copy, say)
    if away:
        raise BoxError("\n".join(away) + f"\nits pool still has {copy.backend}; drain it again once the box answers")


def undrain(site: Site, copy: ResolvedCopy, say: Say) -> None:
    """End every drain on `copy` that no operation holds, whoever it was, and wait until the pools have it again.

    Raise FloorError where a pool does not take it, or where a proxy box does not answer.
    """
    proxies = site.loaded.config.proxy.boxes
    away = []
    for proxy in proxies:
        try:
            _undrain(site, proxy, copy, say)
        except UnreachableError as error:
            away.append(str(error))
    if away:
        raise BoxError("\n".join(away) + f"\nundrain {copy.backend} again once the box answers")
    for proxy in proxies:
        pools.demand(site, proxy, copy, member=True)
    say(f"{copy.backend} is in every pool")


def _undrain(site: Site, proxy: str, copy: ResolvedCopy, say: Say) -> None:
    drains = site.boxes[proxy].call("observe", {})["drains"].get(copy.backend, [])
    people = [drain["holder"] for drain in drains if drain["epoch"] is None]
    if any(map(holders.is_untested, people)):
        raise RefusedError(
            f"{copy.backend}: its build has not passed the tool test; `floor swap {copy.model}` tests it, "
            "`floor swap --abort` goes back, `floor deploy --ungated` lets it serve as it is"
        )
    for holder in people:
        site.boxes[proxy].call("drain.remove", {"backend": copy.backend, "holder": holder, "epoch": None})
        if holders.is_absence(holder):
            say(f"{copy.backend} was kept out of {proxy}'s pool: a deployment had not reached {copy.box}; deploy again")
    if not people:
        say(f"{copy.backend} was not drained on {proxy}")


def idle(site: Site, copy: ResolvedCopy, say: Say) -> None:
    """Wait until nothing runs on a managed copy, at most for its longest request, and say how that ended."""
    try:
        say(settled(site, copy) or f"{copy.backend} has finished what it had")
    except BoxError as error:
        say(f"{copy.backend}: what it still does cannot be seen: {error}")


def settled(site: Site, copy: ResolvedCopy) -> str:
    """Wait until nothing runs on a managed copy, at most for its longest request. Return "" once it is so, else what
    it still does, in words. Raise BoxError where its box does not answer."""
    deadline, quiet = site.clock() + copy.request_time, 0
    while True:
        # asked again and again, and each time for a moment only: Ctrl-C is heard between
        answer = site.boxes[copy.box].call("engine.idle", {**check_params(site, copy), "timeout": 0})
        quiet = quiet + 1 if answer["idle"] else 0
        if quiet == IDLE_TIMES:
            return ""
        if site.clock() >= deadline:
            return f"{copy.backend} still works on {answer.get('running')} requests after {copy.request_time:.0f} s"
        site.sleep(IDLE_POLL)
