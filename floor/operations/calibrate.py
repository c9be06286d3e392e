"""`floor calibrate`: a backend is taken out of the pools, timed at work, let in again; its box keeps the figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from floor.config.model import ResolvedCopy
from floor.desired import copies, groups
from floor.engines.log import Start
from floor.errors import FloorError, UsageError
from floor.healthcheck.target import GENERATE
from floor.layout.calibrated import Point, middle
from floor.operations import drain
from floor.operations.apart import apart, look, running
from floor.operations.calibrate_cache import computed_cache
from floor.operations.checks import check_params
from floor.operations.drain import Say
from floor.operations.layout_measured import build
from floor.operations.lease import Lease
from floor.operations.site import Site

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


def logged_context(site: Site, copy: ResolvedCopy) -> int | None:
    """Given a backend whose longest request the file does not say, return what its start logged of it, if that told."""
    unit = groups.unit_name(copy.model) if "+" in copy.backend.rpartition("@")[2] else copies.unit_name(copy.model)
    try:
        told = site.boxes[copy.box].call("calibrate.look", {"unit": unit}, timeout=60)
    except FloorError:
        return None  # whatever keeps it from an answer is told when it is measured
    return Start.of(told["start"]).context


def works(
    copy: ResolvedCopy,
    depths: Sequence[int] = (),
    at_once: Sequence[int] = (),
    answer: int | None = None,
    logged: int | None = None,
) -> Works:
    """Given a backend, what a person said and the longest request that its start logged, return what is measured; by
    default what tells most in two minutes.

    Raise UsageError for more than the backend takes.
    """
    context, cap = copy.context or logged or 8192, copy.max_requests or 8
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

    Raise as `apart.look`, `apart.running` and `apart.apart` do, FloorError where a measurement fails.
    """
    aim = look(site, copy)
    wanted = running(aim, copy)
    box = site.boxes[wanted.box]
    with apart(site, aim, copy, "calibrate", say, last=force) as lease:
        told = box.call("calibrate.look", {"unit": wanted.unit}, timeout=60)
        points = tuple(_measured(site, copy, work, lease, progress))
        start = Start.of(told["start"])
        figures = {
            "launch": told["launch"],
            "build": build(site.loaded.config, copy),
            "utilization": copy.utilization,
            "start": told["start"],
            "points": [asdict(point) for point in points],
        }
        event = {"text": f"measured {copy.backend}", "data": {"points": len(points)}}
        kept = {"epoch": lease.epoch, "backend": copy.backend, "figures": figures, "event": event}
        box.call("calibrate.keep", kept)
    tokens, why = computed_cache(site, copy, start)
    return Calibration(copy.backend, wanted.box, told["launch"], start, points, tokens, why)


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
