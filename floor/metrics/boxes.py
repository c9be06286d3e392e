"""Looks at the status port of each box, each by itself: what people are shown of boxes comes from there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import httpx

from floor.healthcheck.ask import Request, ask
from floor.healthcheck.target import Target

from . import told
from .exposition import UnreadableError
from .told import Box

EVERY = 1.0  # seconds between two looks at a box
WITHIN = 2.0  # seconds that one may take
LIMIT = 256 * 1024  # bytes of an answer; one has 10,000
PATH = "/box"
_KEY_REFUSED = 401


class Boxes:
    """Given where the status port of each box is (its `/status` address), the status keys to try in turn and the HTTP
    client, keeps what each tells."""

    def __init__(
        self,
        where: Mapping[str, str],
        keys: Sequence[str],
        client: httpx.AsyncClient,
        clock: Callable[[], float],
    ) -> None:
        self._where = {name: url.removesuffix("/status") for name, url in where.items()}
        self._keys, self._client, self._clock = tuple(keys), client, clock
        self.seen = {name: Box() for name in where}

    async def run(self, stop: asyncio.Event) -> None:
        """Look at every box until `stop`."""
        async with asyncio.TaskGroup() as group:
            for name in self._where:
                group.create_task(self._watch(name, stop))

    async def _watch(self, name: str, stop: asyncio.Event) -> None:
        while not stop.is_set():
            began = self._clock()
            await self.look(name)
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), max(0.0, EVERY - (self._clock() - began)))

    async def look(self, name: str) -> None:
        """Ask one box once; what it told before stays where it does not answer."""
        before = self.seen[name]
        for key in self._keys or (None,):
            target = Target(name, self._where[name], "", "vllm", key)
            answer, body = await ask(
                self._client, target, Request("GET", PATH, LIMIT), clock=self._clock, within=WITHIN
            )
            if answer.status != _KEY_REFUSED:
                break
        if answer.fault is not None:
            self.seen[name] = Box(before.told, answer.detail, before.at)
        elif answer.status == 404:
            why = "an older release of floor runs there; floor deploy brings this one"
            self.seen[name] = Box(before.told, why, before.at)
        elif answer.status != 200:
            self.seen[name] = Box(before.told, f"answers {answer.status}: {answer.detail}", before.at)
        else:
            try:
                self.seen[name] = Box(told.read(body), "", self._clock())
            except UnreadableError as error:
                self.seen[name] = Box(before.told, str(error), before.at)
