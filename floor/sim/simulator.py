"""One simulated engine's whole state, and what putting a fault in force does to it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from floor.sim import crash
from floor.sim.book import load
from floor.sim.engine import Engine
from floor.sim.faults import Active, Fault
from floor.sim.journal import Journal
from floor.sim.page import Snapshot, bounds_of
from floor.sim.settings import EMBED, Settings
from floor.sim.stats import Stats
from floor.sim.tooling import Desk

LAST = 1.0  # seconds that a head without its worker goes on answering after it has noticed


class Doors(Protocol):
    """The engine's listening socket and connections, as far as faults move them."""

    def shut(self, cut: bool) -> None:
        """Refuse from now on; with `cut`, end the connections under way too."""

    def reopen(self) -> None:
        """Listen again."""

    async def settled(self) -> None:
        """Wait until a reopening has come about."""

    def drop(self, client: tuple[str, int] | None) -> None:
        """Close one client's connection as it stands."""


@dataclass
class Simulator:
    """Wired together by the server. `new_id` makes the random part of ids. Once loaded it listens, then it is ready."""

    settings: Settings
    doors: Doors
    new_id: Callable[[], str]
    stats: Stats = field(init=False)
    engine: Engine = field(init=False)
    desk: Desk | None = field(init=False, default=None)
    faults: Active = field(default_factory=Active)
    journal: Journal = field(default_factory=Journal)
    started: float = field(default_factory=time.time)
    loaded: bool = False
    ready: bool = False
    stopping: bool = False
    paused: bool = False
    asleep: bool = False
    resident: bool = False
    loading: asyncio.Lock = field(default_factory=asyncio.Lock)
    load: int = 0
    world: str | None = None
    lost: bool = False
    stalled: bool = False
    device: int | None = None
    _death: asyncio.TimerHandle | None = None
    _hog: list[bytearray] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.stats = Stats(bounds_of(self.settings.max_model_len), embeds=self.settings.task == EMBED)
        self.engine = Engine(self.settings, self.stats, self.now)
        answers = self.settings.simulation.answers
        thoughts = self.settings.simulation.reasoning_tokens
        self.desk = Desk(load(answers), thoughts) if answers else None

    def now(self) -> float:
        """The running loop's clock, which every part of the simulation goes by."""
        return asyncio.get_running_loop().time()

    @property
    def served(self) -> tuple[str, ...]:
        """The names it answers to now."""
        wrong = self.faults.get("wrong-model", self.now())
        return (wrong.word("name"),) if wrong else self.settings.served_names

    def snapshot(self) -> Snapshot:
        return Snapshot(self.settings, self.stats, self.engine.scheduler, self.started, self.asleep)

    def strike(self, kind: str) -> Fault | None:
        """The fault of that kind, if it is in force, for the request at hand."""
        fault = self.faults.strike(kind, self.now())
        self._apply()
        return fault

    def put(self, fault: Fault) -> None:
        """Put a fault in force, at once. Raises UsageError when its port, file or memory is not to be had."""
        if fault.kind == "orphan":
            crash.orphan(fault.number("lifetime"), fault.word("lock"), int(fault.number("port")), self.device)
        elif fault.kind == "memory":
            self._hog.append(crash.hog(int(fault.number("mib"))))
        elif fault.kind == "die" and fault.options["on"] == "now":
            self.die(fault)
        self.faults.add(fault, self.now())
        if fault.lasts:
            asyncio.get_running_loop().call_later(fault.lasts + 0.001, self._apply)
        self._apply()

    def clear(self, kind: str | None = None) -> list[str]:
        """Take one kind of fault, or all, out of force. Returns which were."""
        gone = self.faults.clear(kind)
        if "die" in gone and self._death is not None:
            self._death.cancel()
        self._apply()
        return gone

    def die(self, fault: Fault) -> None:
        """End this process as the fault says, after its delay."""
        code = int(fault.number("code")) if fault.word("how") == "exit" else None
        self._death = asyncio.get_running_loop().call_later(fault.number("after"), crash.die, code)

    def _apply(self) -> None:
        """Bring the engine and its socket in line with what is in force."""
        now = self.now()
        names = self.faults.names(now)
        self.engine.freeze("dead" in names or self.paused or self.asleep or self.stalled)
        slow = self.faults.get("slow", now)
        self.engine.crawl(slow.number("rate") if slow else None)
        refuse = self.faults.get("refuse", now)
        if refuse:
            self.doors.shut(bool(refuse.options["cut"]))
        else:
            self.doors.reopen()
        if "memory" not in names:
            self._hog.clear()

    def lose(self) -> None:
        """Another rank of its group is gone: what runs fails, and with it this process; an idle one fails later."""
        self.lost = True
        if self.engine.scheduler.running or self.engine.scheduler.waiting:
            self.fail()

    def fail(self) -> None:
        """End as an engine that a rank has left: what runs gets an error, and the process exits with 0."""
        self.engine.abort_all()
        asyncio.get_running_loop().call_later(LAST, crash.die, 0)

    def stall(self, stalled: bool) -> None:
        """The ranks of its group do not hear each other, or do again."""
        if stalled != self.stalled:
            self.stalled = stalled
            self._apply()

    def pause(self, paused: bool) -> None:
        self.paused = paused
        self._apply()

    def sleep(self, asleep: bool) -> None:
        self.asleep = asleep
        self._apply()
