"""Embeddings: a text, texts or token numbers in, a vector for each out, as long as it takes to read them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

from floor.sim.asking import Asked
from floor.sim.exchange import Exchange, Gone
from floor.sim.exchange import Reply as Answer
from floor.sim.generate import Handler, broken
from floor.sim.journal import Entry
from floor.sim.refusals import invalid, refusal, too_long, unknown_model
from floor.sim.simulator import Simulator
from floor.sim.wording import count_tokens

LENGTH = 8  # numbers in a vector; real ones have a thousand, and nobody looks at them
Shape = Callable[[Asked, list[list[float]], str], Mapping[str, Any]]


def by(shape: Shape, known: Callable[[str, tuple[str, ...]], bool] = lambda name, served: name in served) -> Handler:
    """The handler of a route that embeds `input`. `known` tells whether it has the model of that name."""

    async def answer(sim: Simulator, exchange: Exchange, body: bytes, entry: Entry) -> None:
        content = exchange.json(body)
        texts = _texts(content)
        model = content.get("model")
        if model is not None and not known(str(model), sim.served):
            raise unknown_model(str(model), sim.served)
        asked = _asked(str(model or sim.served[0]), texts, sim.settings.max_model_len)
        await _read(sim, exchange, entry, asked)
        vectors = [vector(text) for text in texts]
        await exchange.reply(Answer.json(shape(asked, vectors, sim.new_id())))

    return answer


def shape(asked: Asked, vectors: list[list[float]], new_id: str) -> Mapping[str, Any]:
    """vLLM's answer (docs.vllm.ai, serving/openai_compatible_server)."""
    data = [{"index": at, "object": "embedding", "embedding": found} for at, found in enumerate(vectors)]
    about = {"id": f"embd-{new_id}", "object": "list", "created": int(time.time()), "model": asked.model, "data": data}
    return about | {"usage": {**_usage(asked), "completion_tokens": 0, "prompt_tokens_details": None}}


def plain(asked: Asked, vectors: list[list[float]], new_id: str) -> Mapping[str, Any]:  # noqa: ARG001  # a Shape
    """What OpenAI documents, and llama.cpp and Ollama answer."""
    data = [{"embedding": found, "index": at, "object": "embedding"} for at, found in enumerate(vectors)]
    return {"model": asked.model, "object": "list", "usage": _usage(asked), "data": data}


def vector(text: str) -> list[float]:
    """A vector decided by the text alone."""
    return [byte / 255 for byte in sha256(text.encode(errors="replace")).digest()[:LENGTH]]


async def _read(sim: Simulator, exchange: Exchange, entry: Entry, asked: Asked) -> None:
    if error := sim.strike("error"):
        raise broken(int(error.number("status")))
    if sim.stopping:
        raise broken(500)
    generation = sim.engine.submit(asked)
    exchange.watch(lambda: sim.engine.abort(generation))
    try:
        async for _ in generation.tokens():
            pass
    finally:
        entry.tokens = 0
        sim.engine.abort(generation)
    if generation.outcome == "aborted":
        raise Gone if exchange.has_left else broken(500)


def _asked(model: str, texts: list[str], longest: int) -> Asked:
    counts = [count_tokens(text) for text in texts]
    if max(counts) > longest:
        raise too_long(longest)
    # One step of the model: it reads all and says nothing.
    return Asked(model, sum(counts), 1, ("",), "stop", None, 0, None, 1, False, False, False)


def _texts(content: Mapping[str, Any]) -> list[str]:
    """Each text, or list of token numbers written as one of as many tokens."""
    found = content.get("input")
    if found in (None, [], ""):
        raise invalid("missing", "body.input", "Field required", dict(content))
    parts = found if isinstance(found, list) and not all(isinstance(part, int) for part in found) else [found]
    texts = [part if isinstance(part, str) else _numbers(part) for part in parts]
    if not all(texts):
        raise refusal(400, "input must be a text, texts or token numbers", "BadRequestError", "input")
    return [str(text) for text in texts]


def _numbers(part: object) -> str | None:
    if isinstance(part, list) and part and all(isinstance(number, int) for number in part):
        return "abcd" * len(part)  # a token is about four letters here
    return None


def _usage(asked: Asked) -> dict[str, Any]:
    return {"prompt_tokens": asked.prompt_tokens, "total_tokens": asked.prompt_tokens}
