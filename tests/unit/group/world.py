"""Boxes, systemd, status ports and a fabric as far as a group depends on them, over simulated time.

Each part has a unit as systemd runs it: a gate, a rank, an automatic restart. Gates and watches ask the status ports,
which tell what was so up to half a second ago, and act on the answers later still.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations, count
from random import Random

from floor.box.parts import HEAD, WORKER, Mark, Phase, Told
from floor.group.decide import Look, ends, gate, rests

TICK = 0.1
FRESH = 0.45  # seconds for which a status port tells the same
RESTART = 2.0  # seconds until systemd starts a part again that has ended
BOOT, AGENT = 3.0, 1.0  # seconds until a box runs its units, and the status port answers
LOAD = 20.0  # seconds from the meeting of all ranks until the group generates
TIMEOUT = 2.0  # seconds that a question may stay open

_starts = count(1)


@dataclass
class Part:
    """One part: its box, its unit's state, and what its gate and its watch are about to do."""

    box: str
    part: str
    on: bool = True
    agent_from: float = AGENT
    phase: Phase = Phase.DOWN
    start: str = ""
    generation: str | None = None
    again: float = 0.0
    spared: bool = False
    went: float = -100.0
    gate_at: float = 0.0
    gate_asked: tuple[str, dict[str, Told | None]] | None = None
    watch_at: float = 0.0
    watch_asked: tuple[Told, float, dict[str, Look]] | None = None
    silent: dict[str, tuple[str, float]] = field(default_factory=dict)
    cached: tuple[float, Told] | None = None

    @property
    def told(self) -> Told:
        start = "" if self.phase is Phase.DOWN else self.start
        return Told(self.part, "unit", self.phase, start, self.generation if start else None)

    @property
    def rank(self) -> str | None:
        """The generation of the rank that runs here, None where none does."""
        return self.generation if self.phase in (Phase.GOING, Phase.RUNNING) else None

    def fall(self, at: float, *, spared: bool = False) -> None:
        """Its process ended: systemd starts it again."""
        if self.on:
            if self.rank is not None:
                self.spared = spared
            self.phase, self.again, self.gate_asked = Phase.DOWN, at + RESTART, None


class World:
    """A group of `boxes` parts, all of them up. By `seed` delays differ."""

    def __init__(self, boxes: int, seed: int) -> None:
        self.random, self.now = Random(seed), 0.0  # noqa: S311 -- chance, no secret
        names = [chr(ord("a") + number) for number in range(boxes)]
        self.parts = {name: Part(name, WORKER if number else HEAD) for number, name in enumerate(names)}
        self.cut: set[frozenset[str]] = set()
        self.healed: dict[frozenset[str], float] = {frozenset(pair): -100.0 for pair in combinations(names, 2)}
        self.ended: list[str] = []
        self.met: float | None = None

    @property
    def head(self) -> Part:
        return next(iter(self.parts.values()))

    def generates(self) -> bool:
        """Whether all ranks of one generation have met and loaded, with nothing cut between them."""
        ranks = {part.rank for part in self.parts.values()}
        return len(ranks) == 1 and None not in ranks and not self.cut and self.head.phase is Phase.RUNNING

    def run(self, seconds: float) -> Iterator[None]:
        """Go on for so long, stopping after each tick."""
        for _ in range(round(seconds / TICK)):
            self.now += TICK
            for part in self.parts.values():
                if part.on:
                    self._systemd(part)
                    self._gate(part)
                    self._watch(part)
            self._engines()
            yield

    def kill(self, box: str) -> None:
        """Its process, gate or rank, dies."""
        if self.parts[box].phase is not Phase.DOWN:
            self.parts[box].fall(self.now)

    def restart(self, box: str) -> None:
        """`systemctl restart`: the new start is there at once."""
        part = self.parts[box]
        if part.on and self.now > part.agent_from - AGENT:
            part.fall(self.now)
            part.again = self.now + TICK

    def power(self, box: str, *, on: bool) -> None:
        """Cut the power, or give it back."""
        part = self.parts[box]
        if on:
            part.on, part.agent_from = True, self.now + BOOT + AGENT
            part.again, part.cached, part.silent, part.went = self.now + BOOT, None, {}, -100.0
            part.watch_at, part.watch_asked = self.now + BOOT + self.random.uniform(0, 2), None
        else:
            part.fall(self.now)
            part.on = False

    def deafen(self, box: str, seconds: float) -> None:
        """Its status port restarts."""
        part = self.parts[box]
        part.agent_from, part.cached = max(part.agent_from, self.now + min(seconds, AGENT)), None

    def stall(self, box: str, seconds: float) -> None:
        """Its watch does not get to run."""
        part = self.parts[box]
        part.watch_at = max(part.watch_at, self.now + seconds)

    def link(self, pair: frozenset[str], *, up: bool) -> None:
        """Cut the way between two boxes, or heal it."""
        if up:
            self.cut.discard(pair)
            self.healed[pair] = self.now
        else:
            self.cut.add(pair)

    def _systemd(self, part: Part) -> None:
        if part.phase is Phase.DOWN and self.now >= part.again:
            part.start = f"start-{next(_starts)}"
            part.phase, part.generation = Phase.WAITING, part.start if part.part == HEAD else None
            part.gate_at, part.gate_asked = self.now + self.random.uniform(0, 0.5), None

    def _ask(self, me: Part, other: Part) -> tuple[Told | None, str]:
        if not other.on or frozenset((me.box, other.box)) in self.cut or self.now < other.agent_from - AGENT:
            return None, "away"
        if self.now < other.agent_from:
            return None, "mute"
        if other.cached is None or self.now - other.cached[0] >= FRESH:
            other.cached = self.now, other.told
        return other.cached[1], ""

    def _all(self, me: Part) -> tuple[dict[str, tuple[Told | None, str]], float]:
        """What everybody told, and when that is known."""
        found = {name: self._ask(me, other) for name, other in self.parts.items() if other is not me}
        slow = TIMEOUT if any(why == "away" for _, why in found.values()) else self.random.uniform(0, 0.4)
        return found, self.now + slow

    def _gate(self, part: Part) -> None:
        if part.phase is not Phase.WAITING or self.now < part.gate_at:
            return
        if part.gate_asked is None:
            found, part.gate_at = self._all(part)
            part.gate_asked = part.start, {box: told for box, (told, _) in found.items()}
            return
        start, told = part.gate_asked
        part.gate_asked, part.gate_at = None, self.now + self.random.uniform(0, 0.5)
        if start != part.start:
            return
        if rests(Mark("before", True, None, at=part.went, spared=part.spared), self.now):
            return
        decision = gate(part.told, told)
        part.generation = decision.generation
        if decision.go:
            part.phase = Phase.GOING if part.part == HEAD else Phase.RUNNING
            part.went = self.now

    def _watch(self, part: Part) -> None:
        if self.now < part.watch_at:
            return
        if part.watch_asked is None:
            own, began = part.told, self.now
            found, part.watch_at = self._all(part)
            looks = {box: self._look(part, box, told, why, began) for box, (told, why) in found.items()}
            part.watch_asked = own, self.now - part.went, looks
            return
        own, went, looks = part.watch_asked
        part.watch_asked, part.watch_at = None, self.now + self.random.uniform(0.5, 1)
        if own.start == part.start and (why := ends(own, went, looks)):
            assert not self._fine(part), f"at {self.now:.1f} {part.box} is ended, and all is well: {why}"
            self.ended.append(f"{self.now:.1f} {part.box}: {why}")
            part.fall(self.now, spared=True)

    def _look(self, part: Part, box: str, told: Told | None, why: str, began: float) -> Look:
        if not why or part.silent.get(box, ("",))[0] != why:
            part.silent.pop(box, None)
        if not why:
            return Look(told)
        lasts = max(1e-3, self.now - part.silent.setdefault(box, (why, began))[1])
        return Look(None, away=lasts) if why == "away" else Look(None, mute=lasts)

    def _fine(self, part: Part) -> bool:
        """Whether everybody is of one generation or about to be, and has been reachable for a while."""
        others = [other for other in self.parts.values() if other is not part]
        together = all(
            other.on and (other.rank == part.rank or (other.phase is Phase.WAITING and other.generation == part.rank))
            for other in others
        )
        calm = not self.cut and all(self.now - at > 2 * TIMEOUT for at in self.healed.values())
        return together and calm and all(self.now > other.agent_from + 1 for other in others)

    def _engines(self) -> None:
        """Ranks that meet load, and the head's unit is active once they have; a rank alone waits for the others."""
        ranks = {part.rank for part in self.parts.values()}
        assert len(ranks - {None}) <= 1, f"at {self.now:.1f} two generations run at once: {ranks}"
        if None in ranks:
            self.met = None
            return
        self.met = self.now if self.met is None else self.met
        if self.head.phase is Phase.GOING and self.now - self.met >= LOAD:
            self.head.phase = Phase.RUNNING
