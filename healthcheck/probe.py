"""Ask a backend: one look at what it says of itself, or one generation."""

from __future__ import annotations

import asyncio

import httpx

from .ask import Clock, Request, ask
from .dialects import find, openai
from .sample import Fault, Generation, Sample
from .target import Target

# Bytes. A health answer is empty or one sentence; vLLM's metrics page is 60 kB for each engine of a server.
_HEALTH_LIMIT = 64 * 1024
_MODELS_LIMIT = 1024 * 1024
_METRICS_LIMIT = 2 * 1024 * 1024
_GENERATION_LIMIT = 1024 * 1024

# What an engine says to a request that its model is not for: it refuses it, has no such path, or cannot do that.
NOT_FOR_IT = (400, 404, 501)
_LEAST = 0.05  # seconds that a second try gets in any case, so that its ending is about the engine
_SPEED_TOKENS = 16  # enough for a speed, and half a second of work at 30 tokens/s


async def look(client: httpx.AsyncClient, target: Target, *, clock: Clock) -> Sample:
    """Ask health, models and metrics at once, within `target.probe_timeout` seconds.

    Return a Sample in which everything that went wrong is data. Nothing is raised for what a backend does.
    """
    dialect = find(target.dialect)
    began = clock()
    requests = (
        Request("GET", dialect.health, _HEALTH_LIMIT),
        Request("GET", dialect.models, _MODELS_LIMIT),
        Request("GET", dialect.metrics, _METRICS_LIMIT),
    )
    (health, health_body), (models, models_body), (metrics, metrics_body) = await asyncio.gather(
        *(ask(client, target, request, clock=clock, within=target.probe_timeout) for request in requests)
    )
    loading = any(
        answer.fault is None and answer.status is not None and dialect.loading(answer.status, body)
        for answer, body in ((health, health_body), (models, models_body))
    )
    return Sample(
        began=began,
        at=clock(),
        health=health,
        models=models,
        metrics=metrics,
        served=dialect.served(models_body) if models.ok else None,
        loading=loading,
        # A page that was cut off may lack a series, and a sum without it would read as work done backwards.
        load=dialect.load(metrics_body) if metrics.ok and len(metrics_body) < _METRICS_LIMIT else None,
    )


async def generate(
    client: httpx.AsyncClient,
    target: Target,
    *,
    clock: Clock,
    timeout: float,  # noqa: ASYNC109 - running out of time is a finding here, not an exception
) -> Generation:
    """Ask for one token (or embedding) within `timeout` seconds, and for more if there is a minimum speed to measure.

    Return what came, tokens as the engine counts them. For an idle backend only: see `judge.wants_generation`.
    """
    began = clock()
    first = await _generate(client, target, 1, clock=clock, within=timeout)
    if target.embeds:
        return first
    lead = first.answer.seconds  # of which the prompt's part comes again
    left = timeout - (first.at - began)
    # So many tokens that running out of time is itself proof of being below the minimum.
    count = min(_SPEED_TOKENS, 1 + int((target.min_speed or 0) * (left - lead)))
    if not first.proven or count < 2:
        return first
    more = await _generate(client, target, count, clock=clock, within=left)
    below = (count - 1) / (left - lead) if more.answer.fault is Fault.TIMED_OUT else None
    return Generation(
        target=target,
        began=began,
        at=more.at,
        answer=first.answer,
        tokens=first.tokens,
        speed=_speed(more, lead),
        speed_below=below,
    )


def _speed(more: Generation, lead: float) -> float | None:
    """Return tokens/s of a generation, given the seconds that one of a single token took; None if it tells nothing."""
    if more.tokens is None or more.tokens < 2:
        return None
    seconds = more.answer.seconds
    if seconds > lead:
        return (more.tokens - 1) / (seconds - lead)
    return more.tokens / seconds if seconds > 0 else None  # the first one compiled, or waited for something


async def _generate(
    client: httpx.AsyncClient, target: Target, count: int, *, clock: Clock, within: float
) -> Generation:
    """Ask for `count` tokens, or for an embedding, in each way that there is, until one is not refused."""
    dialect = find(target.dialect)
    began = clock()
    tokens = None
    requests = openai.embeddings(target.model) if target.embeds else dialect.generations(target.model, count)
    for path, body in requests:
        request = Request("POST", path, _GENERATION_LIMIT, body)
        left = began + within - clock()
        answer, content = await ask(client, target, request, clock=clock, within=max(_LEAST, left))
        if answer.ok:
            tokens = openai.embedded(content) if target.embeds else dialect.tokens(content)
        if answer.status not in (NOT_FOR_IT if target.embeds else (400,)):
            break
    return Generation(target=target, began=began, at=clock(), answer=answer, tokens=tokens)
