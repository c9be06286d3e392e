"""Every route of a captured vLLM 0.32, and what each answers here."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from floor.sim import generate, page, shapes
from floor.sim.asking import read_json
from floor.sim.exchange import Exchange, Reply
from floor.sim.journal import Entry
from floor.sim.settings import VERSION
from floor.sim.simulator import Simulator
from floor.sim.wording import count_tokens, words

Handler = Callable[[Simulator, Exchange, bytes, Entry], Awaitable[None]]


@dataclass(frozen=True)
class Route:
    methods: tuple[str, ...]
    handler: Handler
    generates: bool = False


def _fixed(content: object, status: int = 200) -> Handler:
    async def answer(sim: Simulator, exchange: Exchange, body: bytes, entry: Entry) -> None:  # noqa: ARG001
        await exchange.reply(Reply.json(content, status))

    return answer


async def health(sim: Simulator, exchange: Exchange, body: bytes, entry: Entry) -> None:  # noqa: ARG001
    await exchange.reply(Reply(200))


async def models(sim: Simulator, exchange: Exchange, body: bytes, entry: Entry) -> None:  # noqa: ARG001
    settings = sim.settings
    content = shapes.models(sim.served, settings.model, settings.max_model_len, int(time.time()), sim.new_id())
    await exchange.reply(Reply.json(content))


async def metrics(sim: Simulator, exchange: Exchange, body: bytes, entry: Entry) -> None:  # noqa: ARG001
    kind = "text/plain; version=1.0.0; charset=utf-8"
    await exchange.reply(Reply(200, page.render(sim.snapshot()).encode(), kind))


async def load(sim: Simulator, exchange: Exchange, body: bytes, entry: Entry) -> None:  # noqa: ARG001
    await exchange.reply(Reply.json({"server_load": sim.load if sim.settings.track_load else 0}))


async def tokenize(sim: Simulator, exchange: Exchange, body: bytes, entry: Entry) -> None:  # noqa: ARG001
    content = read_json(body)
    text = str(content.get("prompt") or content.get("messages") or "")
    count = count_tokens(text)
    longest = sim.settings.max_model_len
    answer = {"count": count, "max_model_len": longest, "tokens": list(range(count)), "token_strs": None}
    await exchange.reply(Reply.json(answer))


async def detokenize(sim: Simulator, exchange: Exchange, body: bytes, entry: Entry) -> None:  # noqa: ARG001
    tokens = read_json(body).get("tokens") or []
    await exchange.reply(Reply.json({"prompt": "".join(words(str(tokens), len(tokens)))}))


async def count_message_tokens(sim: Simulator, exchange: Exchange, body: bytes, entry: Entry) -> None:  # noqa: ARG001
    messages = read_json(body).get("messages") or []
    await exchange.reply(Reply.json({"input_tokens": count_tokens(str(messages))}))


def _switch(change: Callable[[Simulator], None]) -> Handler:
    async def answer(sim: Simulator, exchange: Exchange, body: bytes, entry: Entry) -> None:  # noqa: ARG001
        change(sim)
        await exchange.reply(Reply(200))

    return answer


async def is_paused(sim: Simulator, exchange: Exchange, body: bytes, entry: Entry) -> None:  # noqa: ARG001
    await exchange.reply(Reply.json({"is_paused": sim.paused}))


async def is_sleeping(sim: Simulator, exchange: Exchange, body: bytes, entry: Entry) -> None:  # noqa: ARG001
    await exchange.reply(Reply.json({"is_sleeping": sim.asleep}))


ROUTES: dict[str, Route] = {
    "/health": Route(("GET",), health),
    "/ping": Route(("GET", "POST"), health),
    "/version": Route(("GET",), _fixed({"version": VERSION})),
    "/load": Route(("GET",), load),
    "/metrics": Route(("GET",), metrics),
    "/v1/models": Route(("GET",), models),
    "/v1/chat/completions": Route(("POST",), generate.chat, generates=True),
    "/v1/completions": Route(("POST",), generate.completions, generates=True),
    "/invocations": Route(("POST",), generate.invocations, generates=True),
    "/tokenize": Route(("POST",), tokenize),
    "/detokenize": Route(("POST",), detokenize),
    "/v1/messages/count_tokens": Route(("POST",), count_message_tokens),
    "/is_scaling_elastic_ep": Route(("POST",), _fixed({"is_scaling_elastic_ep": False})),
    "/kv_event_sources": Route(("GET",), _fixed([])),
    "/openapi.json": Route(("GET",), _fixed({"openapi": "3.1.0", "info": {"title": "vLLM", "version": VERSION}})),
}

# What vLLM serves only in development mode, or with LoRA loading or a profiler switched on; /sim shows them so that a
# test can prove a proxy hides them.
ADMIN_ROUTES: dict[str, Route] = {
    "/pause": Route(("POST",), _switch(lambda sim: sim.pause(True))),
    "/resume": Route(("POST",), _switch(lambda sim: sim.pause(False))),
    "/is_paused": Route(("GET",), is_paused),
    "/sleep": Route(("POST",), _switch(lambda sim: sim.sleep(True))),
    "/wake_up": Route(("POST",), _switch(lambda sim: sim.sleep(False))),
    "/is_sleeping": Route(("GET",), is_sleeping),
    "/server_info": Route(("GET",), _fixed({"vllm_config": "simulated"})),
    "/reset_prefix_cache": Route(("POST",), health),
    "/reset_mm_cache": Route(("POST",), health),
    "/collective_rpc": Route(("POST",), _fixed({"results": [None]})),
    "/v1/load_lora_adapter": Route(("POST",), health),
    "/v1/unload_lora_adapter": Route(("POST",), health),
    "/start_profile": Route(("POST",), health),
    "/stop_profile": Route(("POST",), health),
}
