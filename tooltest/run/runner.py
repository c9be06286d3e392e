"""The loop that makes trials: so many at once, each written down when it is over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import httpx

from floor.errors import EndpointError

from ..trial.play import Request, play
from ..trial.record import STREAMED, Record
from ..trial.recorded import record, unanswered
from .log import Log
from .plan import Trial
from .send import send

MOST_UNANSWERED = 10  # trials in a row without an answer: the endpoint is down, not the model bad
Progress = Callable[[int, int, float], None]


@dataclass
class Run:
    """`settings`: sampling and system prompt for all requests. `progress`: done, of how many, seconds that are left."""

    client: httpx.AsyncClient
    model: str
    seed: int
    concurrency: int
    sampling: Mapping[str, Any] = field(default_factory=dict)
    system: str = ""
    progress: Progress = lambda done, total, left: None  # noqa: ARG005
    clock: Callable[[], float] = monotonic
    waited: float = 0.0
    _silent: int = 0

    async def make(self, trials: Sequence[Trial], log: Log) -> list[Record]:
        """Make those trials that the log does not have, and return the records of all of them.

        Raises EndpointError where so many in a row got no answer that the endpoint must be down.
        """
        wanted = {(one.scenario.id, one.number) for one in trials}
        done = {(one.scenario, one.trial) for one in log.done}
        todo = [one for one in trials if (one.scenario.id, one.number) not in done]
        await self._all(todo, log)
        return [one for one in log.done if (one.scenario, one.trial) in wanted]

    async def _all(self, todo: Sequence[Trial], log: Log) -> None:
        queue = iter(todo)
        begun, made, left = self.clock(), 0, sum(one.weight for one in todo)
        whole = left

        async def work() -> None:
            nonlocal made, left
            for trial in queue:
                log.add(await self.one(trial))
                made, left = made + 1, left - trial.weight
                self.progress(made, len(todo), max(0.0, (self.clock() - begun) / (whole - left) * left))

        await gather([work() for _ in range(min(self.concurrency, len(todo)))])

    async def one(self, trial: Trial) -> Record:
        """Make one trial. Raises EndpointError as `make`."""
        begun = self.clock()
        sampling = {**self.sampling, "max_tokens": trial.most}
        conversation = play(trial.filled(self.seed), Request(self.model, trial.mode == STREAMED, sampling, self.system))
        body = next(conversation)
        while True:
            exchange = await send(self.client, body, self.clock)
            self.waited += exchange.seconds
            try:
                body = conversation.send(exchange)
            except StopIteration as end:
                found = record(trial.scenario, trial.number, trial.mode, end.value, self.clock() - begun)
                break
        self._silent = self._silent + 1 if unanswered(found) else 0
        if self._silent >= MOST_UNANSWERED:
            raise EndpointError(
                f"{self.client.base_url}: {self._silent} trials in a row got no answer, the last one: {found.error}; "
                "when it is up again, the same command goes on from its trial log"
            )
        return found


async def gather(works: Iterable[Any]) -> None:
    """Run all; the first error ends the others and is raised."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
