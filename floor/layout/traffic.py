"""Traffic for a simulation: given in numbers, or a person's own requests as JSON lines."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from floor.errors import UsageError

Chance = Callable[[], float]
"""A number from 0 up to, not including, 1."""


@dataclass(frozen=True)
class Request:
    """A request: seconds after the beginning that it comes at, tokens of its prompt and of its answer."""

    at: float
    prompt: int
    answer: int


@dataclass(frozen=True)
class Traffic:
    """Requests in the order they come. With `users` each of so many people sends the next when the last is answered:
    `at` counts for nothing then."""

    requests: tuple[Request, ...]
    users: int = 0


def stated(rate: float, prompt: int, answer: int, seconds: float, chance: Chance) -> Traffic:
    """Given requests a second, mean tokens of prompts and answers, how long and chances, return requests that come at
    random (exponential gaps, lengths from half to one and a half times the mean)."""
    found: list[Request] = []
    at = 0.0
    while True:
        at += -math.log(1 - chance()) / rate
        if at > seconds:
            return Traffic(tuple(found))
        found.append(Request(at, _around(prompt, chance), _around(answer, chance)))


def crowd(users: int, prompt: int, answer: int, many: int, chance: Chance) -> Traffic:
    """Given how many people ask one after another, mean lengths and how many requests in all, return them."""
    return Traffic(tuple(Request(0.0, _around(prompt, chance), _around(answer, chance)) for _ in range(many)), users)


def lines(text: Iterable[str], name: str) -> Traffic:
    """Given JSON lines {"at": seconds, "prompt": tokens, "answer": tokens} and their file's name, return the traffic.

    Raise UsageError, with its line, for one that is none.
    """
    found = []
    for number, line in enumerate(text, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            request = Request(float(row["at"]), int(row["prompt"]), int(row["answer"]))
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            wanted = '{"at": seconds, "prompt": tokens, "answer": tokens}'
            raise UsageError(f"{name}:{number}: found {line.strip()[:60]!r}; write {wanted}") from error
        if request.at < 0 or request.prompt < 1 or request.answer < 1 or not math.isfinite(request.at):
            raise UsageError(f"{name}:{number}: found a time below 0 or less than 1 token")
        found.append(request)
    if not found:
        raise UsageError(f"{name}: found no request in it")
    return Traffic(tuple(sorted(found, key=lambda request: request.at)))


def _around(mean: int, chance: Chance) -> int:
    return max(1, round(mean * (0.5 + chance())))
