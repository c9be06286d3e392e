"""Clients of the model: one that shows its answer as it comes, and many that ask without a break and never retry."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx

from .site import MODEL

TOKENS = 24  # of each answer under load: about two seconds


@dataclass(frozen=True)
class Outcome:
    """One request: `status` is None where the connection broke; times are the monotonic clock."""

    status: int | None
    whole: bool
    began: float
    ended: float


@dataclass
class Tally:
    """What became of all requests so far."""

    outcomes: list[Outcome] = field(default_factory=list)
    open: int = 0

    @property
    def whole(self) -> list[Outcome]:
        return [one for one in self.outcomes if one.whole]

    @property
    def failed(self) -> list[Outcome]:
        return [one for one in self.outcomes if not one.whole]

    def count(self, status: int) -> int:
        return sum(1 for one in self.outcomes if one.status == status)


def request(prompt: str, tokens: int) -> dict[str, object]:
    """Given a prompt and how long the answer may be, return the body of a streamed chat."""
    messages = [{"role": "user", "content": prompt}]
    return {"model": MODEL, "messages": messages, "max_tokens": tokens, "ignore_eos": True, "stream": True}


async def words(client: httpx.AsyncClient, prompt: str, tokens: int) -> AsyncIterator[str]:
    """Ask for a streamed chat and yield each piece of text at the moment it arrives."""
    async with client.stream("POST", "/v1/chat/completions", json=request(prompt, tokens)) as response:
        response.raise_for_status()
        async for line in response.aiter_lines():
            if line.startswith("data: {"):
                for choice in json.loads(line[6:])["choices"]:
                    if text := choice["delta"].get("content"):
                        yield text


@asynccontextmanager
async def steady(client: httpx.AsyncClient, streams: int) -> AsyncIterator[Tally]:
    """Keep so many streams open; on leaving, no new ones begin and those that are open come to their end."""
    tally, going = Tally(), [True]
    clients = [asyncio.create_task(_ask(client, tally, lambda: going[0], number)) for number in range(streams)]
    try:
        yield tally
        going[0] = False
        await asyncio.gather(*clients)
    finally:
        for one in clients:
            one.cancel()
        await asyncio.gather(*clients, return_exceptions=True)


async def _ask(client: httpx.AsyncClient, tally: Tally, going: Callable[[], bool], number: int) -> None:
    await asyncio.sleep(number * 0.1)  # not in step
    while going():
        tally.open += 1
        tally.outcomes.append(await _one(client, f"client {number}, question {len(tally.outcomes)}"))
        tally.open -= 1
        if not tally.outcomes[-1].whole:
            await asyncio.sleep(0.5)  # the next question, not the same one again


async def _one(client: httpx.AsyncClient, prompt: str) -> Outcome:
    began, status, whole = time.monotonic(), None, False
    try:
        async with client.stream("POST", "/v1/chat/completions", json=request(prompt, TOKENS)) as response:
            status = response.status_code
            async for line in response.aiter_lines():
                whole = whole or (status == 200 and line == "data: [DONE]")
    except httpx.HTTPError:
        status = None
    return Outcome(status, whole and status == 200, began, time.monotonic())
