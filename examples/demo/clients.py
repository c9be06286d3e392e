"""Clients of the model: one that shows its answer as it comes, and many that ask without a break and never retry."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx

from floor.errors import FloorError

from .site import MODEL

TOKENS = 24  # of each answer under load: about two seconds
PATH = "/v1/chat/completions"


@dataclass(frozen=True)
class Answer:
    """What became of one request. `status` is None where the connection broke; times are the monotonic clock."""

    status: int | None
    whole: bool
    began: float
    ended: float


@dataclass
class Tally:
    """All answers so far; clients go on asking while `going`."""

    answers: list[Answer] = field(default_factory=list)
    going: bool = True


def request(prompt: str, tokens: int) -> dict[str, object]:
    """Given a prompt and how long the answer shall be, return the body of a streamed chat."""
    messages = [{"role": "user", "content": prompt}]
    return {"model": MODEL, "messages": messages, "max_tokens": tokens, "ignore_eos": True, "stream": True}


async def words(client: httpx.AsyncClient, prompt: str, tokens: int) -> AsyncIterator[str]:
    """Ask for a streamed chat and yield each piece of text when it arrives. Raise FloorError for any other answer."""
    try:
        async with client.stream("POST", PATH, json=request(prompt, tokens)) as response:
            if response.status_code != 200:
                raise FloorError(f"a chat through the proxy: {response.status_code}, {await response.aread()!r:.200}")
            async for line in response.aiter_lines():
                if line.startswith("data: {"):
                    for choice in json.loads(line[6:])["choices"]:
                        if text := choice["delta"].get("content"):
                            yield text
    except httpx.HTTPError as error:
        raise FloorError(f"a chat through the proxy: {error!r}") from error


@asynccontextmanager
async def steady(client: httpx.AsyncClient, streams: int) -> AsyncIterator[Tally]:
    """Keep so many streams open. On leaving, no new ones begin and those that are open come to their end."""
    tally = Tally()
    clients = [asyncio.create_task(_ask(client, tally, number)) for number in range(streams)]
    try:
        yield tally
        tally.going = False
        await asyncio.gather(*clients)
    finally:
        for one in clients:
            one.cancel()
        await asyncio.gather(*clients, return_exceptions=True)


async def _ask(client: httpx.AsyncClient, tally: Tally, number: int) -> None:
    await asyncio.sleep(number * 0.1)  # not in step
    while tally.going:
        answer = await _one(client, f"client {number}, question {len(tally.answers)}")
        tally.answers.append(answer)
        if not answer.whole:
            await asyncio.sleep(0.5)  # then the next question, not this one again


async def _one(client: httpx.AsyncClient, prompt: str) -> Answer:
    began, status, whole = time.monotonic(), None, False
    try:
        async with client.stream("POST", PATH, json=request(prompt, TOKENS)) as response:
            status = response.status_code
            async for line in response.aiter_lines():
                whole = whole or (status == 200 and line == "data: [DONE]")
    except httpx.HTTPError:
        status, whole = None, False
    return Answer(status, whole, began, time.monotonic())
