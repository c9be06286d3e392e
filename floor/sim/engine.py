"""The scheduler on a real clock: generations go in, their tokens come out when they are due."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Literal

from floor.sim.asking import Asked
from floor.sim.scheduler import Event, Scheduler, Sequence
from floor.sim.settings import Settings
from floor.sim.stats import Stats

Outcome = Literal["running", "finished", "aborted"]


@dataclass(eq=False)
class Generation:
    """One request under way: a sequence for each of its choices."""

    asked: Asked
    sequences: list[Sequence] = field(default_factory=list)
    due: asyncio.Queue[int | None] = field(default_factory=asyncio.Queue)
    outcome: Outcome = "running"

    async def tokens(self) -> AsyncIterator[int]:
        """The index of the choice that got a token, for each token. Ends when all are out, or when it was aborted."""
        while (choice := await self.due.get()) is not None:
            yield choice

    @property
    def generated(self) -> int:
        return sum(sequence.generated for sequence in self.sequences)


class Engine:
    """All generations of one process. `clock` must be the running loop's own, in seconds."""

    def __init__(self, settings: Settings, stats: Stats, clock: Callable[[], float]) -> None:
        self.scheduler = Scheduler(settings.limits)
        self.stats = stats
        self.aborted = 0
        self.finished = 0
        self._curve = settings.limits.curve
        self._rate: float | None = None
        self._clock = clock
        self._of: dict[Sequence, Generation] = {}
        self._idle = asyncio.Event()
        self._idle.set()
        self._timer: asyncio.TimerHandle | None = None

    def submit(self, asked: Asked, silence: float = 0.0) -> Generation:
        """Queue it; its tokens come as the scheduler says, the first `silence` seconds later than they would."""
        generation = Generation(asked)
        self._pump()
        for _ in range(asked.choices):
            sequence = self.scheduler.submit(self._clock(), asked.prompt_tokens, len(asked.tokens), silence)
            generation.sequences.append(sequence)
            self._of[sequence] = generation
        self._idle.clear()
        self._pump()
        return generation

    def abort(self, generation: Generation) -> None:
        """Stop it now and free its slots; nothing if it has ended already."""
        if generation.outcome != "running":
            return
        self._pump()
        now = self._clock()
        for sequence in generation.sequences:
            if self.scheduler.abort(now, sequence):
                self._end(sequence, now, "abort")
        if generation.outcome == "running":
            generation.outcome = "aborted"
            self.aborted += 1
            generation.due.put_nowait(None)
        self._pump()

    async def idle_within(self, seconds: float) -> bool:
        """Wait until nothing runs or waits, so long at most. Returns whether that came about."""
        try:
            await asyncio.wait_for(self._idle.wait(), seconds)
        except TimeoutError:
            return not self._of
        return True

    def abort_all(self) -> None:
        for generation in set(self._of.values()):
            self.abort(generation)

    def freeze(self, frozen: bool) -> None:
        """A dead scheduler takes requests in and yields nothing; a thawed one goes on where it was."""
        if frozen and not self.scheduler.frozen:
            self._pump()
            self.scheduler.frozen = True
        elif not frozen and self.scheduler.frozen:
            self.scheduler.thaw(self._clock())
        self._pump()

    def crawl(self, rate: float | None) -> None:
        """Each request gets `rate` tok/s whoever else runs; None goes back to the curve."""
        if rate == self._rate:
            return
        self._pump()
        self._rate = rate
        self.scheduler.change_pace(self._clock(), self._curve if rate is None else (lambda running: running * rate))
        self._pump()

    def delay(self, seconds: float) -> None:
        """The device was busy elsewhere for so long, until now: everything due comes later by it."""
        self.scheduler.shift(seconds)
        self._pump()

    def _pump(self) -> None:
        for event in self.scheduler.advance(self._clock()):
            self._hand_out(event)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due = self.scheduler.next_at()
        if due is not None:
            self._timer = asyncio.get_running_loop().call_at(due, self._pump)

    def _hand_out(self, event: Event) -> None:
        sequence = event.sequence
        self.stats.take(event)
        if sequence is None or sequence not in self._of:
            return
        generation = self._of[sequence]
        if event.kind == "token":
            generation.due.put_nowait(generation.sequences.index(sequence))
        elif event.kind == "finished":
            finish = "stop" if generation.asked.finish == "tool_calls" else generation.asked.finish
            self._end(sequence, event.at, finish)
            if not any(s in self._of for s in generation.sequences):
                generation.outcome = "finished"
                self.finished += 1
                generation.due.put_nowait(None)

    def _end(self, sequence: Sequence, at: float, reason: str) -> None:
        asked = self._of.pop(sequence).asked
        if not self._of:
            self._idle.set()
        self.stats.finish(sequence, at, reason, asked.max_tokens, asked.choices)
