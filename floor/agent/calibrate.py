"""Times an engine at work: so many streams at once, each with a prompt of so many tokens that nothing is cached of."""

from __future__ import annotations

import asyncio
import json
import random
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import httpx

from floor.errors import FloorError
from floor.healthcheck.target import Target

Clock = Callable[[], float]
_NUMBERS = range(10, 510)  # of tokens that every vocabulary has
_DONE = "[DONE]"
LONGER = (1, 2, 4, 8, 16)  # times the answer that is asked for
SPAN = 1.0  # seconds in which all streams generate: in less, how pieces are passed on is most of what is timed


class ApartError(FloorError):
    """No moment at which all streams generated: the first has ended before the last began."""


@dataclass(frozen=True)
class Work:
    """What is asked: `at_once` streams, each of a `prompt` of so many tokens and an `answer` of so many. `seed` makes
    the prompts: another one makes others, of which no cache holds anything."""

    at_once: int
    prompt: int
    answer: int
    seed: int


@dataclass
class Stream:
    """One answer: seconds from the sending until each piece of it came, and what the engine counted."""

    times: list[float] = field(default_factory=list)
    prompt: int | None = None
    answer: int | None = None

    @property
    def tokens(self) -> int:
        """Tokens of the answer: as the engine counts them, else a token a piece."""
        return self.answer or len(self.times)


async def measure(client: httpx.AsyncClient, target: Target, work: Work, clock: Clock, within: float) -> dict[str, Any]:
    """Send all streams at once. Return {prompt: tokens as the engine counts them, answer, first: seconds until each had
    its first token, speed: tokens a second of all together while all of them generated}.

    Where they run side by side for less than SPAN, as those of a small model do, or never, as when a slow machine sends
    the last one after the first has ended, longer answers are asked for, as long as the engine takes them. Raise
    FloorError where one is refused or breaks, or they take longer than `within` seconds, and ApartError where answers
    LONGER[-1] times as long do not help.
    """
    began, found, apart = clock(), None, None
    for times in LONGER:
        # another seed: the prompts of the try before may be in a cache
        tried = replace(work, answer=work.answer * times, seed=work.seed + times - 1)
        try:
            streams = await _streams(client, target, tried, clock, within - (clock() - began))
            found = figures(streams, target.name, tried)
        except ApartError as error:
            apart = error
            continue
        except FloorError as error:  # as where longer ones are beyond its context
            if found:
                break
            raise apart or error from None
        begin, end = _span(streams)
        if end - begin >= SPAN:
            break
    if found is None:
        raise apart or AssertionError("LONGER is empty")
    return found


def _span(streams: Sequence[Stream]) -> tuple[float, float]:
    """When the last one began to generate, and when the first one ended."""
    return max(one.times[0] for one in streams), min(one.times[-1] for one in streams)


async def _streams(
    client: httpx.AsyncClient, target: Target, work: Work, clock: Clock, within: float
) -> Sequence[Stream]:
    began = clock()
    try:
        async with asyncio.timeout(within):
            return await asyncio.gather(
                *(_ask(client, target, work, number, clock, began) for number in range(work.at_once))
            )
    except TimeoutError:
        raise FloorError(f"{target.name}: {_said(work)}: took longer than {within:.0f} s; ask for fewer") from None


def figures(streams: Sequence[Stream], name: str, work: Work) -> dict[str, Any]:
    """Given the streams of one measurement, return what `measure` does. Raise FloorError where they tell no
    speed, ApartError where they never ran side by side."""
    if any(len(stream.times) < 3 for stream in streams):
        raise FloorError(f"{name}: {_said(work)}: came in fewer than 3 pieces; it tells no speed")
    begin, end = _span(streams)
    made = 0.0
    for one in streams:
        each = (one.tokens - 1) / (len(one.times) - 1)  # a piece may hold several tokens, of an engine that drafts
        made += each * sum(begin < at <= end for at in one.times)
    if end <= begin or not made:
        raise ApartError(f"{name}: {_said(work)}: never ran side by side; ask for longer answers or for fewer at once")
    return {
        "prompt": round(sum(one.prompt or work.prompt for one in streams) / len(streams)),
        "answer": round(sum(one.tokens for one in streams) / len(streams)),
        "first": begin,
        "speed": made / (end - begin),
    }


def request(target: Target, work: Work, number: int) -> dict[str, Any]:
    """Given who is asked and which of the streams it is, return the body of its request.

    Numbers of tokens, not text: how many tokens a text has is the tokenizer's own. Ollama takes no numbers; a letter is
    a token in most vocabularies.
    """
    chance = random.Random(f"{work.seed} {number}")  # noqa: S311 - prompts, not secrets
    numbers = [chance.choice(_NUMBERS) for _ in range(work.prompt)]
    text = "".join(f" {string.ascii_letters[one % 52]}" for one in numbers)
    return {
        "model": target.model,
        "prompt": text if target.dialect == "ollama" else numbers,
        "max_tokens": work.answer,
        "min_tokens": work.answer,
        "ignore_eos": True,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


async def _ask(
    client: httpx.AsyncClient, target: Target, work: Work, number: int, clock: Clock, began: float
) -> Stream:
    found = Stream()
    headers = {"Authorization": f"Bearer {target.key}"} if target.key else {}
    body = request(target, work, number)
    try:
        async with client.stream("POST", f"{target.url}/v1/completions", json=body, headers=headers) as answer:
            if answer.status_code != httpx.codes.OK:
                said = (await answer.aread()).decode(errors="replace")[:300]
                raise FloorError(f"{target.name}: {_said(work)}: refused, {answer.status_code}: {said}")
            ended = False
            async for line in answer.aiter_lines():
                told = line.removeprefix("data:").strip() if line.startswith("data:") else ""
                ended = ended or told == _DONE
                if told and told != _DONE:
                    _take(found, json.loads(told), clock() - began)
    except (httpx.HTTPError, ValueError, AttributeError, TypeError) as error:
        words = str(error) or type(error).__name__
        raise FloorError(f"{target.name}: {_said(work)}: broke off ({words}); the engine's log says why") from error
    if not ended:
        raise FloorError(f"{target.name}: {_said(work)}: broke off; the engine's log says why")
    return found


def _take(stream: Stream, piece: dict[str, Any], at: float) -> None:
    usage = piece.get("usage") or {}
    if isinstance(usage.get("completion_tokens"), int):
        stream.answer, stream.prompt = usage["completion_tokens"], usage.get("prompt_tokens")
    if piece.get("choices"):
        stream.times.append(at)


def _said(work: Work) -> str:
    many = "a stream" if work.at_once == 1 else f"{work.at_once} streams at once"
    return f"{many} of {work.prompt} tokens and {work.answer} more"
