"""Whether an engine has to go, and which. Pure: what was seen before and a sample in, memory and decision out.

An engine that is asked to stop takes as long as its longest request, a box freezes within seconds, and then only a
power cycle helps (NVIDIA/open-gpu-kernel-modules#1358). So near the floor one engine is killed, at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum, auto

from floor.sizes import GIB, gib

from .sample import Engine, Sample
from .settings import Settings, floor_of

WINDOW = 1.0  # seconds over which the fall is measured
REACTION = 0.1  # seconds from a sample until nothing more is taken; what will be through the floor by then goes now
# Times the floor within which that counts: a cache is taken at once, in a tenth of a second, and most end above it.
NEAR = 1.5
SPAN = 0.2  # seconds that a fall must have been seen for: two readings may lie on both sides of one jump
PRESSED = 20.0  # per cent of ten seconds in which nothing ran for want of memory, while less than keep_free is left
LOW_FOR = 10.0  # seconds below keep_free after which it is said: a dip that recovers is none
CLEAR = 1.25  # times keep_free or the floor at which it counts as left behind
SETTLES = 15.0  # seconds after a kill in which memory still comes back, and no second engine is taken for the first


class Action(StrEnum):
    """What is done."""

    NONE = auto()
    WARN = auto()
    KILL = auto()


@dataclass(frozen=True)
class Decision:
    """`unit` is the engine to kill, `text` says why, with its figures. `nobody`: one had to go and none is known."""

    action: Action = Action.NONE
    unit: str = ""
    text: str = ""
    nobody: bool = False


@dataclass(frozen=True)
class Watch:
    """What is remembered: the last second's readings, whether the floor is armed, since when memory is low, whether
    that was said, and when the last engine was killed."""

    readings: tuple[tuple[float, int], ...] = ()
    armed: bool = False
    low_since: float | None = None
    warned: bool = False
    killed: float | None = None


def decide(watch: Watch, sample: Sample, settings: Settings) -> tuple[Watch, Decision]:
    """Given what is remembered (`Watch()` at first), a sample and the settings, return the new memory and the decision.

    In mode observe a kill is decided all the same; whoever acts does not carry it out.
    """
    if sample.available is None or sample.total is None:
        return replace(watch, readings=()), Decision()
    floor = floor_of(settings, sample.total)
    watch = _remember(watch, sample, settings, floor)
    why = _why(watch, sample, settings, floor)
    if why and _settling(watch, sample, floor):
        return watch, Decision()
    if why:
        victim = choose(sample.engines)
        if victim is not None:
            return replace(watch, killed=sample.at, readings=()), Decision(Action.KILL, victim.unit, why)
        why += "; no engine of floor runs here"
    watch, decision = _warn(watch, sample, settings, why)
    return watch, replace(decision, nobody=bool(why))


def still(decision: Decision, watch: Watch, sample: Sample, settings: Settings) -> bool:
    """Given a decision to kill, the memory that it came from and one more sample, say whether it still holds."""
    if sample.available is None or sample.total is None:
        return False
    floor = floor_of(settings, sample.total)
    before = watch.readings[-1][1] if watch.readings else sample.available
    below = sample.available <= floor or (sample.full or 0.0) >= PRESSED
    return (below or sample.available <= before) and any(one.unit == decision.unit for one in sample.engines)


def choose(engines: tuple[Engine, ...]) -> Engine | None:
    """Given the engines that have processes, return the one to kill: one that starts before one that serves, for it is
    the one that grows and serves nobody; then the largest; then the youngest. None that waits: it holds nothing."""
    begun = [one for one in engines if not one.waits]
    return max(begun, key=lambda one: (one.starting, one.memory or 0, one.since), default=None)


def falls(watch: Watch) -> float:
    """Given what is remembered, return by how many bytes a second memory falls; 0 where it does not, or not for long
    enough to tell."""
    if len(watch.readings) < 3:
        return 0.0
    (first, before), (last, now) = watch.readings[0], watch.readings[-1]
    # The newest step counts too: a fall that has ended is over.
    if last - first < SPAN or now >= watch.readings[-2][1]:
        return 0.0
    return max(0.0, (before - now) / (last - first))


def pace(sample: Sample, settings: Settings) -> float:
    """Given the last sample and the settings, return the seconds until the next one: less as headroom shrinks, and
    while an engine starts."""
    if sample.available is None or sample.total is None:
        return 1.0
    headroom = max(0, sample.available - floor_of(settings, sample.total))
    longest = 0.25 if any(one.starting for one in sample.engines) else 1.0
    # 14 GiB a second were seen (vllm#56824 and its kind): ten readings on the way from anywhere to the floor.
    return min(longest, max(0.05, headroom / (140 * GIB)))


def _remember(watch: Watch, sample: Sample, settings: Settings, floor: int) -> Watch:
    available = sample.available or 0
    readings = (*((at, value) for at, value in watch.readings if sample.at - at <= WINDOW), (sample.at, available))
    low = available < settings.keep_free
    clear = available >= settings.keep_free * CLEAR
    return replace(
        watch,
        readings=readings,
        # A guard that finds a box resting below its floor has a floor that is wrong: that is said, and nothing killed
        # for it until memory was above, falls, or is waited for.
        armed=watch.armed or available > floor * CLEAR,
        low_since=None if clear or not low else sample.at if watch.low_since is None else watch.low_since,
        warned=watch.warned and not clear,
    )


def _why(watch: Watch, sample: Sample, settings: Settings, floor: int) -> str:
    """Why an engine must go now, empty where none must."""
    available = sample.available or 0
    left = f"{gib(available)} are left of {(sample.total or 0) / GIB:.1f}"
    rate = falls(watch)
    if available <= floor and (watch.armed or rate > 0):
        return f"{left}, the floor is {floor / GIB:.1f}"
    if rate > 0 and available <= floor * NEAR and available - rate * REACTION <= floor:
        return f"{left} and {gib(rate)} go every second, the floor is {floor / GIB:.1f}"
    if sample.full is not None and sample.full >= PRESSED and available < settings.keep_free:
        return f"{left}, and everything waited for memory for {sample.full:.0f} % of the last 10 s"
    return ""


def _settling(watch: Watch, sample: Sample, floor: int) -> bool:
    """Whether an engine was killed so lately that its memory may still come back, and none is lost meanwhile."""
    if watch.killed is None or sample.at - watch.killed >= SETTLES:
        return False
    return not (falls(watch) > 0 and (sample.available or 0) <= floor // 2)


def _warn(watch: Watch, sample: Sample, settings: Settings, why: str) -> tuple[Watch, Decision]:
    if watch.warned or watch.low_since is None or (not why and sample.at - watch.low_since < LOW_FOR):
        return watch, Decision()
    available, total = sample.available or 0, sample.total or 0
    text = why or f"{gib(available)} are left, {settings.keep_free / GIB:.1f} should stay free"
    if available <= floor_of(settings, total) and not watch.armed:
        text += f"; the box rests below its floor of {floor_of(settings, total) / GIB:.1f}: lower it, or the shares"
    return replace(watch, warned=True), Decision(Action.WARN, "", text)
