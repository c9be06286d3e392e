"""`floor calibrate`: a backend is taken out of the pools, timed at work, let in again; its box keeps the figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import Any

from floor.config.model import ResolvedCopy
from floor.engines.log import Start
from floor.errors import BoxError, FloorError, RefusedError, UsageError
from floor.healthcheck.target import GENERATE
from floor.layout.calibrated import Point, middle
from floor.layout.fleet import boxes_of
from floor.operations import caller, drain, pools
from floor.operations.calibrate_cache import computed_cache
from floor.operations.caller import dead
from floor.operations.checks import check_params
from floor.operations.layout_measured import build
from floor.operations.lease import Lease
from floor.operations.site import Site
from floor.plan.abandoned import CALIBRATE, digest, finishing, unfinished
from floor.plan.aim import Aim, Wanted

Say = Callable[[str], None]
TRIES = 3  # of each measurement: the middle one counts
MARGIN = 30.0  # seconds beyond a measurement's own time in which its answer must have come


@dataclass(frozen=True)
class Works:
    """What is measured: single streams with prompts of each of `depths`, and several at once with the shortest of them;
    `answer` tokens each."""

    depths: tuple[int, ...]
    at_once: tuple[int, ...]
    answer: int

    def each(self) -> Iterator[tuple[int, int]]:
        """Yield (streams at once, tokens of the prompt)."""
        yield from ((1, depth) for depth in self.depths)
        yield from ((many, self.depths[0]) for many in self.at_once if many > 1)


@dataclass(frozen=True)
class Calibration:
    """What a backend was measured at. `computed`: tokens of the cache by the rules, None where `why` says so."""

    backend: str
    box: str
    launch: str
    start: Start
    points: tuple[Point, ...]
    computed: int | None
    why: str

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values, of a stable shape."""
        cache = {"logged": self.start.tokens, "computed": self.computed, "why": self.why}
        shown = {"backend": self.backend, "box": self.box, "launch": self.launch, "start": asdict(self.start)}
        return {**shown, "cache": cache, "points": [asdict(point) for point in self.points]}


def works(
    copy: ResolvedCopy, depths: Sequence[int] = (), at_once: Sequence[int] = (), answer: int | None = None
) -> Works:
    """Given a backend and what a person said, return what is measured; by default what tells most in two minutes.

    Raise UsageError for more than the backend takes.
    """
    context, cap = copy.context or 8192, copy.max_requests or 8
    longest = min(context, 32768)
    tokens = answer or max(8, min(96, context // 4))
    chosen = tuple(sorted(set(depths or (max(16, longest // 32), longest // 8, longest // 2))))
    counts = tuple(sorted(set(at_once or [many for many in (2, 4, 8, 16, 32) if many < cap] + [cap])))
    if chosen[-1] + tokens > context:
        raise UsageError(
            f"{copy.backend}: found {chosen[-1]} tokens and {tokens} more; it takes requests of {context} in all"
        )
    if counts[-1] > cap:
        raise UsageError(f"{copy.backend}: found {counts[-1]} requests at once; it takes {cap}")
    return Works(chosen, counts, tokens)


def find(site: Site, name: str) -> ResolvedCopy:
    """Given a backend's name, or a box's with one backend, return it. Raise UsageError for one that cannot be
    measured."""
    copy = drain.find(site, name)
    if not copy.managed:
        raise UsageError(f"{copy.backend}: floor does not manage it; only engines of floor's own are measured")
    if copy.task != GENERATE:
        raise UsageError(f"{copy.backend}: answers in vectors; only what generates is measured")
    return copy


def calibrate(site: Site, copy: ResolvedCopy, work: Works, say: Say, progress: Say, *, force: bool) -> Calibration:
    """Take the backend out of every pool, wait until it is idle, measure it, let it in again, keep the figures on its
    box.

    Raise RefusedError where it is the only member left and `force` is not given, or where another operation was left
    unfinished; BusyError where another one is at work; FloorError where it does not run or a measurement fails. It is
    in the pools again then, and within the operation's lease also where this process dies.
    """
    aim = site.observe()
    wanted = _running(aim, copy)
    box = site.boxes[wanted.box]
    target, record = copy.backend, digest(site.loaded.text)
    with Lease(site, aim.seen, CALIBRATE, target, record) as lease:
        lease.state = "done"  # whatever comes: nothing is left of it that another command would have to end
        with _out(site, aim, copy, lease.epoch, last=force):
            _idle(site, copy)
            say(f"{copy.backend} is out of every pool and idle")
            told = box.call("calibrate.look", {"unit": wanted.unit}, timeout=60)
            points = tuple(_measured(site, copy, work, lease, progress))
            start = Start(**told["start"])
            figures = {
                "launch": told["launch"],
                "build": build(site.loaded.config, copy),
                "utilization": copy.utilization,
                "start": told["start"],
                "points": [asdict(point) for point in points],
            }
            event = {"text": f"measured {copy.backend}", "data": {"points": len(points)}}
            box.call(
                "calibrate.keep", {"epoch": lease.epoch, "backend": copy.backend, "figures": figures, "event": event}
            )
    tokens, why = computed_cache(site, copy, start)
    return Calibration(copy.backend, wanted.box, told["launch"], start, points, tokens, why)


def _running(aim: Aim, copy: ResolvedCopy) -> Wanted:
    """The backend as it is deployed. Raise RefusedError or FloorError where it cannot be measured now."""
    left = unfinished(aim.seen)
    # one at work is told by its lease; that of a process that is dead would be taken over, and forgotten with that
    if left is not None and left.verb != CALIBRATE and (not left.live or dead(left.by)):
        raise RefusedError(
            f"operation {left.epoch} of {left.who} was left unfinished; `{finishing(left.verb, left.target)}` ends it"
        )
    needed = {*aim.config.proxy.boxes, *boxes_of(copy.backend)}
    away = [why for box, why in aim.absent.items() if box in needed]
    if away:
        raise BoxError("\n".join([*away, "its pool might still send requests meanwhile; nothing was measured"]))
    wanted = next((one for one in aim.copies if one.backend == copy.backend), None)
    unit = aim.seen[wanted.box].unit(wanted.unit) if wanted else None
    if wanted is None or unit is None or unit.active != "active":
        state = unit.active if unit else "not deployed"
        raise FloorError(f"{copy.backend}: is {state}; only what serves can be measured; see `floor status`")
    if unit.launch != wanted.state.launch.digest:
        raise RefusedError(f"{copy.backend}: runs with other settings than floor.yaml has; `floor deploy` comes first")
    return wanted


@contextmanager
def _out(site: Site, aim: Aim, copy: ResolvedCopy, epoch: int, *, last: bool) -> Iterator[None]:
    """Out of every pool meanwhile. Who held it out before still does afterwards."""
    proxies = list(aim.config.proxy.boxes)
    params = {"backend": copy.backend, "holder": f"{CALIBRATE} by {caller.name()}", "epoch": epoch}
    drained = any(seen.drained(copy.backend) for seen in aim.proxies)
    event = {"text": f"took {copy.backend} out of the pool to measure it", "data": {}}
    try:
        for proxy in proxies:
            site.boxes[proxy].call("drain.add", {**params, "last": last or drained, "event": event})
        for proxy in proxies:
            _pool(site, proxy, copy, member=False)
        yield
    finally:
        for proxy in proxies:
            with suppress(FloorError):  # it lapses with the lease where the box cannot be told
                site.boxes[proxy].call("drain.remove", params)
    if not drained:
        for proxy in proxies:
            _pool(site, proxy, copy, member=True)


def _pool(site: Site, proxy: str, copy: ResolvedCopy, *, member: bool) -> None:
    if why := pools.wait(site, proxy, copy, member=member, seconds=drain.POOL_SECONDS):
        where = "into" if member else "out of"
        raise FloorError(f"{copy.backend} did not come {where} {proxy}'s pool: {why}; see `floor status`")


def _idle(site: Site, copy: ResolvedCopy) -> None:
    """Wait until it has finished what it had. Raise FloorError where it goes on, or does not tell."""
    deadline, quiet = site.clock() + copy.request_time, 0
    while True:
        answer = site.boxes[copy.box].call("engine.idle", {**check_params(site, copy), "timeout": 0})
        quiet = quiet + 1 if answer["idle"] else 0
        if quiet == drain.IDLE_TIMES:
            return
        if site.clock() >= deadline:
            raise FloorError(
                f"{copy.backend}: still works on {answer.get('running')} requests after {copy.request_time:.0f} s, "
                "though no pool has it; who asks it directly? Nothing was measured"
            )
        site.sleep(drain.IDLE_POLL)


def _measured(site: Site, copy: ResolvedCopy, work: Works, lease: Lease, progress: Say) -> Iterator[Point]:
    asked = check_params(site, copy)
    for number, (at_once, prompt) in enumerate(work.each()):
        progress(f"  {at_once} at once, prompts of {prompt:,} tokens")
        tries = []
        for attempt in range(TRIES):
            if lease.lost.is_set():
                raise FloorError(f"{copy.backend}: {lease.reason}; nothing was kept")
            seed = lease.epoch * 1000 + number * TRIES + attempt  # no prompt twice: a cache would hold it
            wish = {"at_once": at_once, "prompt": prompt, "answer": work.answer, "seed": seed}
            within = copy.request_time
            found = site.boxes[copy.box].call(
                "calibrate.measure", {**asked, **wish, "timeout": within}, timeout=within + MARGIN
            )
            tries.append(Point(at_once, found["prompt"], found["answer"], found["first"], found["speed"]))
        yield middle(tries)
