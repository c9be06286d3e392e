"""Warms an engine up before clients reach it: a short prompt, a long one, a tool call; a short and a long embedding.

What an engine compiles or captures at first use is done by then, so no client waits for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from floor.errors import FloorError
from floor.healthcheck.dialects import openai
from floor.healthcheck.probe import NOT_FOR_IT
from floor.healthcheck.target import Target
from floor.tooltest import warmup

SHORT_ANSWER = 16  # tokens; beyond the first one the decoding path is warmed
# Tokens of the long prompt at most, and where the context is not known. Engines read long prompts in pieces of a few
# thousand, so twice that has every shape; a box that reads 2000 tokens/s needs 8 s for it.
LONG_MOST = 16384
LONG_UNKNOWN = 1024
EMBEDDINGS = "/v1/embeddings"

Clock = Callable[[], float]
Log = Callable[[str], None]


@dataclass(frozen=True)
class Engine:
    """The engine to warm, and its context in tokens; None: it is asked."""

    client: httpx.AsyncClient
    target: Target
    context: int | None


@dataclass(frozen=True)
class Reply:
    """What came of one request: the HTTP status and the body, parsed; seconds it took."""

    status: int
    body: Mapping[str, Any]
    seconds: float

    @property
    def ok(self) -> bool:
        return self.status == 200

    @property
    def words(self) -> str:
        """Why it is not ok, in the engine's own words."""
        error = self.body.get("error", self.body)
        message = error.get("message", error) if isinstance(error, Mapping) else error
        return f"{self.status}: {str(message)[:200]}"


async def warm_up(engine: Engine, clock: Clock, log: Log) -> None:
    """Send the three requests one after another. Raise FloorError if a short or a long prompt is not answered.

    A tool call that fails is told and no more: an engine started without a tool parser answers 400.
    """
    if engine.target.embeds:
        await _embed(engine, clock, log)
        return
    name = engine.target.name
    short = await _ask(engine, "/v1/chat/completions", short_request(engine.target.model), clock)
    if short.status == 400:  # a model without a chat template
        short = await _ask(engine, "/v1/completions", long_request(engine.target, 8), clock)
    _short(short, "prompt", name, log)
    length = long_length(engine.context or await _context(engine, clock))
    long = await _ask(engine, "/v1/completions", long_request(engine.target, length), clock)
    _long(long, f"prompt of {length} tokens", name, log)
    tool = await _ask(engine, "/v1/chat/completions", warmup.request(engine.target.model), clock)
    if tool.ok:
        log(f"{name}: warm-up: a tool call took {tool.seconds:.1f} s")
    else:
        log(f"{name}: warm-up: warning: a tool call failed, {tool.words}")


async def _embed(engine: Engine, clock: Clock, log: Log) -> None:
    """The same for a model for embeddings; one that only orders texts by a question is asked for that."""
    target = engine.target
    short = Reply(404, {}, 0.0)
    for path, body in openai.embeddings(target.model):
        short = await _ask(engine, path, body, clock)
        if short.status not in NOT_FOR_IT:
            break
    _short(short, "text", target.name, log)
    length = long_length(engine.context or await _context(engine, clock))
    if path != EMBEDDINGS:
        return
    body = {"model": target.model, "input": long_request(target, length)["prompt"]}
    long = await _ask(engine, path, body, clock)
    _long(long, f"text of {length} tokens", target.name, log)


def _short(reply: Reply, what: str, name: str, log: Log) -> None:
    if not reply.ok:
        raise FloorError(f"{name}: the short warm-up request failed, {reply.words}; the engine's log says why")
    log(f"{name}: warm-up: a short {what} took {reply.seconds:.1f} s")


def _long(reply: Reply, what: str, name: str, log: Log) -> None:
    """A long one may be refused: how long the engine takes them is its own affair."""
    if reply.ok:
        log(f"{name}: warm-up: a {what} took {reply.seconds:.1f} s")
    elif 400 <= reply.status < 500:
        log(f"{name}: warm-up: warning: a {what} was refused, {reply.words}")
    else:
        raise FloorError(f"{name}: the long warm-up request failed, {reply.words}; the engine's log says why")


def short_request(model: str) -> dict[str, Any]:
    """Given a served name, return the body of a short chat."""
    return {
        "model": model,
        "messages": [{"role": "user", "content": "Say hello."}],
        "max_tokens": SHORT_ANSWER,
        "temperature": 0,
        "stream": False,
    }


def long_request(target: Target, length: int) -> dict[str, Any]:
    """Given a backend and a number of tokens, return the body of a completion with exactly so many in its prompt.

    Token numbers, not text: how many tokens a text has is the tokenizer's own. Every vocabulary has these. Ollama takes
    no numbers; a short word is a token in most vocabularies.
    """
    numbers = [10 + number % 200 for number in range(length)]
    return {
        "model": target.model,
        "prompt": " a" * length if target.dialect == "ollama" else numbers,
        "max_tokens": 1,
        "temperature": 0,
        "stream": False,
    }


def long_length(context: int | None) -> int:
    """Given the context in tokens, None if unknown, return the tokens of the long prompt: half of it, bounded."""
    return LONG_UNKNOWN if context is None else max(1, min(LONG_MOST, context // 2))


async def _context(engine: Engine, clock: Clock) -> int | None:
    """The context that the engine says it has in its model list; None if it does not."""
    reply = await _ask(engine, "/v1/models", None, clock)
    models = reply.body.get("data")
    for model in models if isinstance(models, list) else ():
        known = {**(model.get("meta") or {}), **model} if isinstance(model, Mapping) else {}
        length = known.get("max_model_len") or known.get("n_ctx")  # vLLM's word, llama.cpp's
        if isinstance(length, int) and length > 0 and model.get("id") == engine.target.model:
            return length
    return None


async def _ask(engine: Engine, path: str, body: Mapping[str, Any] | None, clock: Clock) -> Reply:
    """Send one request, however long it takes: the unit's start time bounds it. Raise FloorError without an answer."""
    key = engine.target.key
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    began = clock()
    try:
        response = await engine.client.request(
            "GET" if body is None else "POST", engine.target.url + path, json=body, headers=headers
        )
    except httpx.HTTPError as error:
        words = str(error) or type(error).__name__
        raise FloorError(
            f"{engine.target.name}: no answer to a warm-up request ({words}); the engine's log says why"
        ) from error
    try:
        document = response.json()
    except ValueError:
        document = {"error": response.text[:200]}
    return Reply(response.status_code, document if isinstance(document, dict) else {}, clock() - began)
