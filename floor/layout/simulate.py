"""A discrete-event run of a layout under traffic.

Requests go to the backend with the fewest. A backend takes them while it is below its cap and its cache has room for
all their tokens. It reads one prompt after another, and generates for all together at the speed for so many: the speed
model's, or a measured curve, which has the reading in it already. While it reads, it does not generate.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from floor.layout.traffic import Request, Traffic

_SOON = 1e-9  # seconds and tokens below which something is over: rounding


@dataclass(frozen=True)
class Server:
    """A backend as traffic sees it. `speed`: of how many at once, tokens a second of all; `reads`: seconds a token of a
    prompt; `cap`: requests at once; `holds`: tokens of its cache; `longest`: tokens of a request that it takes."""

    name: str
    speed: Callable[[int], float]
    reads: float
    cap: int
    holds: float
    longest: float = math.inf

    def takes(self, request: Request) -> bool:
        """Whether it could ever answer that."""
        return request.prompt + request.answer <= min(self.holds, self.longest)


@dataclass(frozen=True)
class Outcome:
    """What came of it. Seconds are (median, 95th, 99th of a hundred): until work on it began, until the first token,
    until its last. `refused`: no backend could ever take them. `seconds`: from the first request to the last answer."""

    done: int
    refused: int
    seconds: float
    throughput: float
    per_minute: float
    waited: tuple[float, float, float]
    first: tuple[float, float, float]
    whole: tuple[float, float, float]


@dataclass
class _Job:
    request: Request
    came: float
    left: float
    began: float = math.nan
    first: float = math.nan
    ended: float = math.nan


@dataclass
class _State:
    """A server at work: whose prompts are read (the first of them now), who generates, who waits."""

    server: Server
    waiting: deque[_Job] = field(default_factory=deque)
    prompts: deque[_Job] = field(default_factory=deque)
    running: list[_Job] = field(default_factory=list)
    reading: float = 0.0

    @property
    def many(self) -> int:
        return len(self.waiting) + len(self.prompts) + len(self.running)

    def admit(self, now: float) -> None:
        while self.waiting:
            job = self.waiting[0]
            inside = [*self.prompts, *self.running]
            taken = sum(one.request.prompt + one.request.answer for one in inside)
            room = taken + job.request.prompt + job.request.answer <= self.server.holds
            if len(inside) >= self.server.cap or (inside and not room):
                return
            self.waiting.popleft()
            job.began = now
            self.prompts.append(job)
            if len(self.prompts) == 1:
                self.reading = job.request.prompt * self.server.reads

    def next(self) -> float:
        """Seconds until something of its own happens."""
        if self.prompts:
            return self.reading
        if not self.running:
            return math.inf
        return min(job.left for job in self.running) / self._each()

    def _each(self) -> float:
        return self.server.speed(len(self.running)) / len(self.running)

    def pass_time(self, seconds: float, now: float) -> list[_Job]:
        """Let seconds pass until `now`, and return the requests that are answered by then."""
        if self.prompts:
            self.reading -= seconds
            if self.reading <= _SOON:
                job = self.prompts.popleft()
                job.first = now
                self.running.append(job)
                self.reading = self.prompts[0].request.prompt * self.server.reads if self.prompts else 0.0
            return []
        if not self.running:
            return []
        made = seconds * self._each()
        for job in self.running:
            job.left -= made
        over = [job for job in self.running if job.left <= _SOON]
        self.running = [job for job in self.running if job.left > _SOON]
        for job in over:
            job.ended = now
        return over


def run(servers: Sequence[Server], traffic: Traffic) -> Outcome:
    """Given the backends of a layout and traffic, return what came of it."""
    states = [_State(server) for server in servers]
    fitting = [one for one in traffic.requests if any(server.takes(one) for server in servers)]
    queue = deque(fitting)
    now = 0.0
    done: list[_Job] = []
    for _ in range(min(traffic.users, len(queue))):
        _send(states, queue.popleft(), now)
    while True:
        coming = queue[0].at - now if queue and not traffic.users else math.inf
        seconds = max(0.0, min(coming, *(state.next() for state in states)))
        if math.isinf(seconds):
            break
        now += seconds
        for state in states:
            over = state.pass_time(seconds, now)
            done += over
            for _ in over if traffic.users else ():
                if queue:
                    _send(states, queue.popleft(), now)
        while queue and not traffic.users and queue[0].at <= now + _SOON:
            _send(states, queue.popleft(), now)
        for state in states:
            state.admit(now)
    return _outcome(done, len(traffic.requests) - len(fitting))


def _send(states: Sequence[_State], request: Request, now: float) -> None:
    """To the one with the fewest requests, of those that can hold it."""
    able = [state for state in states if state.server.takes(request)]
    chosen = min(able, key=lambda state: state.many)
    chosen.waiting.append(_Job(request, now, float(request.answer)))
    chosen.admit(now)


def _outcome(done: Sequence[_Job], refused: int) -> Outcome:
    begin = min((job.came for job in done), default=0.0)
    seconds = max((job.ended for job in done), default=0.0) - begin
    tokens = sum(job.request.answer for job in done)
    return Outcome(
        done=len(done),
        refused=refused,
        seconds=seconds,
        throughput=tokens / seconds if seconds else 0.0,
        per_minute=len(done) * 60 / seconds if seconds else 0.0,
        waited=_parts([job.began - job.came for job in done]),
        first=_parts([job.first - job.came for job in done]),
        whole=_parts([job.ended - job.came for job in done]),
    )


def _parts(values: Sequence[float]) -> tuple[float, float, float]:
    ordered = sorted(values)
    if not ordered:
        return 0.0, 0.0, 0.0
    last = len(ordered) - 1
    half, most, nearly = (ordered[min(last, math.ceil(part * len(ordered)) - 1)] for part in (0.5, 0.95, 0.99))
    return half, most, nearly
