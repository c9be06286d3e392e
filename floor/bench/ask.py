"""One streamed request, timed token by token. Every ending of it is data."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx

from .level import Record
from .traffic import Request

LONGEST = 1024 * 1024  # bytes of a line; a piece of a stream has some hundred
_MOST = 100_000_000  # tokens of one answer
_WORDS = 120  # of an engine's own words in an error


async def ask(
    client: httpx.AsyncClient, url: str, model: str, request: Request, *, clock: Callable[[], float], within: float
) -> Record:
    """Send `request` to `url` for `model` and read all of the answer, at most `within` seconds without a byte. Nothing
    that a network or a server can do is raised.

    Tokens are the engine's own count; where it gives none, the pieces that came.
    """
    body = {**request.body, "model": model, "stream": True, "stream_options": {"include_usage": True}}
    began = clock()
    seen = _Seen()
    try:
        timeout = httpx.Timeout(within, connect=10.0)
        async with client.stream("POST", f"{url}{request.path}", json=body, timeout=timeout) as response:
            if response.status_code != httpx.codes.OK:
                text = (await response.aread())[: 4 * _WORDS].decode("utf-8", "replace")
                return Record(began, clock(), error=f"{response.status_code}: {' '.join(text.split())[:_WORDS]}")
            async for line in _lines(response):
                seen.take(line, clock())
    except (httpx.HTTPError, httpx.StreamError) as error:
        words = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(": ")
        return Record(began, clock(), error=words[:_WORDS])
    except _TooLongError:
        return Record(began, clock(), error=f"a line of the stream is longer than {LONGEST} bytes")
    wrong = seen.error or ("" if seen.done else "the stream ended without an end")
    tokens = seen.pieces if seen.tokens is None else seen.tokens
    return Record(began, clock(), seen.first, seen.last, tokens, seen.prompt, wrong)


class _TooLongError(Exception):
    """A line has no end."""


async def _lines(response: httpx.Response) -> AsyncIterator[str]:
    """The lines of an answer. Raise _TooLongError rather than keep one without end."""
    kept = b""
    async for chunk in response.aiter_bytes():
        *lines, kept = (kept + chunk).split(b"\n")
        for line in lines:
            yield line.decode("utf-8", "replace")
        if len(kept) > LONGEST:
            raise _TooLongError
    yield kept.decode("utf-8", "replace")


class _Seen:
    """What came of one stream."""

    def __init__(self) -> None:
        self.first: float | None = None
        self.last: float | None = None
        self.pieces = 0
        self.tokens: int | None = None
        self.prompt: int | None = None
        self.done = False
        self.error = ""

    def take(self, line: str, now: float) -> None:
        if not line.startswith("data:"):
            return
        text = line.removeprefix("data:").strip()
        if text == "[DONE]":
            self.done = True
            return
        try:
            event = json.loads(text)
        except (ValueError, RecursionError):
            self.error = "a piece of the stream is not JSON"
            return
        if isinstance(event, dict):
            self._event(event, now)

    def _event(self, event: dict[str, Any], now: float) -> None:
        if event.get("error"):
            self.error = " ".join(str(event["error"]).split())[:_WORDS]
        usage = event.get("usage")
        if isinstance(usage, dict):
            self.tokens, self.prompt = _count(usage.get("completion_tokens")), _count(usage.get("prompt_tokens"))
        choices = event.get("choices")
        if isinstance(choices, list) and any(map(_holds_text, choices)):
            self.first = now if self.first is None else self.first
            self.last = now
            self.pieces += 1


def _count(value: object) -> int | None:
    """A count of tokens; what is none is not known."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST else None


def _holds_text(choice: Any) -> bool:
    """Whether a piece brings a token: of the answer, of thinking, or of a tool call."""
    if not isinstance(choice, dict):
        return False
    delta = choice.get("delta")
    if isinstance(delta, dict):
        return any(delta.get(key) for key in ("content", "reasoning_content", "reasoning", "tool_calls"))
    return bool(choice.get("text"))
