"""Continuous batching, as a pure model: who runs, who waits, and when each token is due.

Time is a number of seconds handed in by the caller; nothing here reads a clock. One step gives every decoding
request one token and lasts n / curve(n) seconds, so n requests together get exactly curve(n) tok/s.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Literal


@dataclass(frozen=True)
class Limits:
    """What one copy can hold: requests at once, cache size and block size in tokens, prompt tok/s, decode curve."""

    max_running: int
    cache_tokens: int
    prefill_rate: float
    curve: Callable[[int], float]
    block: int = 16

    @property
    def cache_blocks(self) -> int:
        return self.cache_tokens // self.block


@dataclass(eq=False)
class Sequence:
    """One generation under way. Times are the scheduler's seconds; None until it happened.

    `silence`: seconds its prefill takes beyond what its prompt asks for.
    """

    prompt: int
    want: int
    arrived: float
    silence: float = 0.0
    generated: int = 0
    admitted: float | None = None
    prefill_until: float = 0.0
    prefilled: bool = False
    first_token: float | None = None
    last_token: float | None = None
    preemptions: int = 0

    @property
    def tokens(self) -> int:
        return self.prompt + self.generated


@dataclass(frozen=True)
class Event:
    """What happened at a moment. `tokens`: prompt and generated tokens of an iteration. `since_last`: seconds from
    the same sequence's token before this one."""

    kind: Literal["token", "finished", "preempted", "iteration"]
    at: float
    sequence: Sequence | None = None
    tokens: int = 0
    since_last: float | None = None


@dataclass
class Scheduler:
    limits: Limits
    running: list[Sequence] = field(default_factory=list)
    waiting: deque[Sequence] = field(default_factory=deque)
    frozen: bool = False
    _step_at: float | None = None
    _step: list[Sequence] = field(default_factory=list)

    def submit(self, now: float, prompt: int, want: int, silence: float = 0.0) -> Sequence:
        """Queue a generation of `want` tokens (at least 1) after `prompt` tokens; it runs at once if there is room."""
        sequence = Sequence(prompt, want, arrived=now, silence=silence)
        self.waiting.append(sequence)
        self._admit(now)
        return sequence

    def abort(self, now: float, sequence: Sequence) -> bool:
        """Forget it and give its slot to the next in line. False when it had already finished."""
        if sequence in self.running:
            self.running.remove(sequence)
        elif sequence in self.waiting:
            self.waiting.remove(sequence)
        else:
            return False
        self._admit(now)
        return True

    def advance(self, now: float) -> list[Event]:
        """Everything that was due up to `now`, in order of time."""
        events: list[Event] = []
        while (due := self.next_at()) is not None and due <= now:
            events += self._run_until(due)
            self._admit(due)
        return events

    def next_at(self) -> float | None:
        """When something is due next; None while nothing runs or the scheduler is frozen."""
        if self.frozen:
            return None
        due = [sequence.prefill_until for sequence in self.running if not sequence.prefilled]
        if self._step_at is not None:
            due.append(self._step_at)
        return min(due, default=None)

    def shift(self, seconds: float) -> None:
        """Everything due comes `seconds` later: the device was busy with something else."""
        if self._step_at is not None:
            self._step_at += seconds
        for sequence in self.running:
            sequence.prefill_until += seconds

    def change_pace(self, now: float, curve: Callable[[int], float]) -> None:
        """Decode by another curve from `now` on; the step under way is timed anew."""
        self.limits = replace(self.limits, curve=curve)
        if self._step_at is not None and self._step:
            self._step_at = now + len(self._step) / curve(len(self._step))

    def thaw(self, now: float) -> None:
        """End a freeze. What was due meanwhile is due from now on, not all at once."""
        self.frozen = False
        overdue = self.next_at()
        if overdue is not None and overdue < now:
            self.shift(now - overdue)

    @property
    def used_blocks(self) -> int:
        return sum(self._blocks(sequence.tokens) for sequence in self.running)

    @property
    def cache_usage(self) -> float:
        """Part of the cache in use, 0 to 1."""
        return self.used_blocks / self.limits.cache_blocks

    def _blocks(self, tokens: int) -> int:
        return ceil(tokens / self.limits.block)

    def _admit(self, now: float) -> None:
        while self.waiting and len(self.running) < self.limits.max_running:
            head = self.waiting[0]
            if self.used_blocks + self._blocks(head.tokens + 1) > self.limits.cache_blocks:
                return
            self.waiting.popleft()
            silence = head.silence if head.admitted is None else 0.0
            head.admitted = now if head.admitted is None else head.admitted
            head.prefilled = False
            head.prefill_until = now + silence + head.tokens / self.limits.prefill_rate
            self.running.append(head)

    def _run_until(self, at: float) -> Iterator[Event]:
        for sequence in [s for s in self.running if not s.prefilled and s.prefill_until <= at]:
            sequence.prefilled = True
            yield Event("iteration", at, tokens=sequence.tokens + 1)
            yield from self._token(sequence, at)
        if self._step_at is not None and self._step_at <= at:
            members = [s for s in self._step if s in self.running]
            self._step_at, self._step = None, []
            yield from self._make_room(members, at)
            members = [s for s in members if s in self.running]
            if members:
                yield Event("iteration", at, tokens=len(members))
            for sequence in members:
                yield from self._token(sequence, at)
        if self._step_at is None:
            self._step = [s for s in self.running if s.prefilled]
            if self._step:
                self._step_at = at + len(self._step) / self.limits.curve(len(self._step))

    def _token(self, sequence: Sequence, at: float) -> Iterator[Event]:
        sequence.generated += 1
        if sequence.first_token is None:
            sequence.first_token = at
        since_last = None if sequence.last_token is None else at - sequence.last_token
        sequence.last_token = at
        yield Event("token", at, sequence, since_last=since_last)
        if sequence.generated >= sequence.want:
            self.running.remove(sequence)
            yield Event("finished", at, sequence)

    def _make_room(self, members: list[Sequence], at: float) -> Iterator[Event]:
        """The youngest give their cache back, and wait again, until a token each fits: vLLM's recompute preemption."""
        while len(self.running) > 1:
            growth = sum(self._blocks(s.tokens + 1) - self._blocks(s.tokens) for s in members if s in self.running)
            if self.used_blocks + growth <= self.limits.cache_blocks:
                return
            youngest = self.running.pop()
            youngest.preemptions += 1
            self.waiting.appendleft(youngest)
            yield Event("preempted", at, youngest)
