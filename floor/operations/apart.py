"""A backend out of every pool and idle for as long as it is measured, and in them again whatever happens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from floor.config.model import ResolvedCopy
from floor.errors import BoxError, FloorError, RefusedError
from floor.operations import caller, drain, pools
from floor.operations.caller import dead
from floor.operations.drain import Say
from floor.operations.lease import Lease
from floor.operations.site import Site
from floor.plan.abandoned import digest, finishing, unfinished
from floor.plan.aim import Aim, Wanted


def look(site: Site, copy: ResolvedCopy) -> Aim:
    """Look at the boxes. Raise RefusedError where an operation was left unfinished, BoxError where the backend's box or
    a proxy box does not answer."""
    aim = site.observe()
    left = unfinished(aim.seen)
    # one at work is told by its lease; that of a process that is dead would be taken over, and forgotten with that
    if left is not None and (not left.live or dead(left.by)):
        raise RefusedError(
            f"operation {left.epoch} of {left.who} was left unfinished; `{finishing(left.verb, left.target)}` ends it"
        )
    needed = {*aim.config.proxy.boxes, *copy.backend.rpartition("@")[2].split("+")}
    away = [why for box, why in aim.absent.items() if box in needed]
    if away:
        raise BoxError("\n".join([*away, "its pool might still send requests meanwhile; nothing was measured"]))
    return aim


def running(aim: Aim, copy: ResolvedCopy) -> Wanted:
    """A managed backend as it is deployed. Raise FloorError where it does not run, RefusedError where it runs with
    other settings than floor.yaml has."""
    wanted = next((one for one in aim.copies if one.backend == copy.backend), None)
    unit = aim.seen[wanted.box].unit(wanted.unit) if wanted else None
    if wanted is None or unit is None or unit.active != "active":
        state = unit.active if unit else "not deployed"
        raise FloorError(f"{copy.backend}: is {state}; only what serves can be measured; see `floor status`")
    if unit.launch != wanted.state.launch.digest:
        raise RefusedError(f"{copy.backend}: runs with other settings than floor.yaml has; `floor deploy` comes first")
    return wanted


@contextmanager
def apart(site: Site, aim: Aim, copy: ResolvedCopy, verb: str, say: Say, *, last: bool) -> Iterator[Lease]:
    """Given what `look` saw and what the command is called, take the backend out of every pool and wait until it is
    idle; let it in again afterwards. Who held it out before still does then.

    Raise RefusedError where it is the only member left and `last` is not given, BusyError where an operation is at
    work, FloorError where a pool does not let it go or it is still asked. Whatever happens to this process, the pools
    have it again when the hold on the boxes lapses, and nothing is left that another command would have to end.
    """
    record = digest(site.loaded.text)
    with Lease(site, aim.seen, verb, copy.backend, record, passing=True) as lease:
        try:
            with _out(site, aim, copy, verb, lease.epoch, last=last):
                if copy.managed and (busy := drain.settled(site, copy)):
                    raise FloorError(f"{busy}, though no pool has it; who asks it directly? Nothing was measured")
                say(f"{copy.backend} is out of every pool" + (" and idle" if copy.managed else ""))
                yield lease
        except KeyboardInterrupt:
            lease.state = "interrupted"
            raise
        say(f"{copy.backend} is in every pool" if not _drained(aim, copy) else f"{copy.backend} stays drained")
        lease.state = "done"


@contextmanager
def _out(site: Site, aim: Aim, copy: ResolvedCopy, verb: str, epoch: int, *, last: bool) -> Iterator[None]:
    proxies, drained = list(aim.config.proxy.boxes), _drained(aim, copy)
    params = {"backend": copy.backend, "holder": f"{verb} by {caller.name()}", "epoch": epoch}
    data = {"verb": verb, "epoch": epoch}
    event = {"text": f"took {copy.backend} out of the pool to measure it", "data": data}
    try:
        for proxy in proxies:
            site.boxes[proxy].call("drain.add", {**params, "last": last or drained, "event": event})
        for proxy in proxies:
            pools.demand(site, proxy, copy, member=False)
        yield
    finally:
        for proxy in proxies:
            with suppress(FloorError):  # it lapses with the lease where the box cannot be told
                site.boxes[proxy].call("drain.remove", params)
    if not drained:
        for proxy in proxies:
            pools.demand(site, proxy, copy, member=True)


def _drained(aim: Aim, copy: ResolvedCopy) -> bool:
    return any(seen.drained(copy.backend) for seen in aim.proxies)
