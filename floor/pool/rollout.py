"""Which generation of the members file nginx's workers serve with. Pure.

A reload starts new workers, and only then are the old ones told to take no more requests. So a backend that went out
with generation N gets no new request once every worker that was there before that reload is gone or leaving.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

# Seconds within which a reload must have replaced the workers. It takes 0.1 s; a configuration that nginx refuses
# leaves the old ones for ever, with a line in its log alone.
LIMIT = 10.0

# Seconds for which the set of accepting workers must not have changed. Somebody else's reload may still be under way
# when ours is asked for, and its workers, with the file of before, come up after ours was counted.
STABLE = 0.2


@dataclass(frozen=True)
class Process:
    """A process of nginx; `started` are clock ticks since boot, so that a pid used again is somebody else."""

    pid: int
    started: int
    leaving: bool = False
    """It accepts no more requests: its title says that it is shutting down."""


@dataclass(frozen=True)
class Rollout:
    """`generation` counts the files written, `settled` is the newest one that every accepting worker has at least.

    `left` and `joined` are, by backend, the generation with which it last went out or came in. `old` are the workers
    that accepted requests when the reload under way was asked for at `since`; `accepting` and `accepting_since` are who
    does now, and for how long.
    """

    generation: int = 0
    settled: int = 0
    left: Mapping[str, int] = field(default_factory=dict)
    joined: Mapping[str, int] = field(default_factory=dict)
    old: frozenset[tuple[int, int]] = frozenset()
    since: float = 0.0
    accepting: frozenset[tuple[int, int]] = frozenset()
    accepting_since: float = 0.0

    @property
    def under_way(self) -> bool:
        return self.settled < self.generation

    @property
    def unknown(self) -> frozenset[str]:
        """Backends that are out, of which no reload of ours is known to have said so."""
        return frozenset(name for name, number in self.left.items() if number > self.generation)

    def late(self, now: float) -> bool:
        """True if nginx has kept its old workers for longer than a reload may take."""
        return self.under_way and now - self.since > LIMIT

    def acknowledged(self, backend: str) -> bool:
        """Given a backend that is not in the members file, whether no worker sends it requests any more."""
        return self.left.get(backend, 0) <= self.settled

    def serves(self, backend: str) -> bool:
        """Given a backend that is in the members file, whether every worker sends it requests."""
        return self.joined.get(backend, 0) <= self.settled


def written(
    rollout: Rollout, before: frozenset[str], after: frozenset[str], workers: Collection[Process], now: float
) -> Rollout:
    """A new file lies there, and a reload is asked for: given who was in and who is, and nginx's workers as they are
    before the reload, return the rollout under way. Without workers there is nobody to wait for."""
    generation = rollout.generation + 1
    left = {name: number for name, number in rollout.left.items() if name not in after}
    joined = {name: number for name, number in rollout.joined.items() if name in after}
    old = _accepting(workers)
    return replace(
        rollout,
        generation=generation,
        settled=rollout.settled if old else generation,
        left=left | dict.fromkeys((before | rollout.unknown) - after, generation),
        joined=joined | dict.fromkeys(after - before, generation),
        old=old,
        since=now,
        accepting=old,
        accepting_since=now,
    )


def nobody(rollout: Rollout) -> Rollout:
    """nginx does not run: nobody sends anything, and what it starts with is the file as it is."""
    return replace(rollout, settled=rollout.generation, left={}, joined={}, old=frozenset())


def again(rollout: Rollout, now: float) -> Rollout:
    """The reload is asked for once more: its time runs from now, and the workers waited for are the same."""
    return replace(rollout, since=now)


def look(rollout: Rollout, workers: Collection[Process], now: float) -> Rollout:
    """Given nginx's workers as they are now, return how far the rollout is."""
    if not rollout.under_way:
        return rollout
    accepting = _accepting(workers)
    if accepting != rollout.accepting:
        rollout = replace(rollout, accepting=accepting, accepting_since=now)
    waiting = bool(accepting & rollout.old) or now - rollout.accepting_since < STABLE
    if accepting and waiting:
        return rollout
    return replace(rollout, settled=rollout.generation, old=frozenset())


def _accepting(workers: Collection[Process]) -> frozenset[tuple[int, int]]:
    return frozenset((worker.pid, worker.started) for worker in workers if not worker.leaving)
