"""Every route of a captured vLLM 0.32, and what each answers here."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from floor.sim import dialects, embedding, generate, page, shapes
from floor.sim.exchange import Exchange, Reply
from floor.sim.generate import Handler
from floor.sim.journal import Entry
from floor.sim.refusals import refusal
from floor.sim.settings import EMBED, VERSION, Settings
from floor.sim.simulator import Simulator
from floor.sim.wording import count_tokens, words


@dataclass(frozen=True)
class Route:
    methods: tuple[str, ...]
    handler: Handler


def says(content: Callable[[Simulator], object]) -> Handler:
    """A route that answers 200 with what `content` makes of the engine's state."""

    async def answer(sim: Simulator, exchange: Exchange, body: bytes, entry: Entry) -> None:  # noqa: ARG001
        await exchange.reply(Reply.json(content(sim)))

    return answer


def does(change: Callable[[Simulator], None]) -> Handler:
    """A route that does something and answers an empty 200."""

    async def answer(sim: Simulator, exchange: Exchange, body: bytes, entry: Entry) -> None:  # noqa: ARG001
        change(sim)
        await exchange.reply(Reply(200))

    return answer


def reads(content: Callable[[Simulator, dict[str, object]], object]) -> Handler:
    """A route that answers 200 with what `content` makes of the request's JSON. Raises Refusal for a bad one."""

    async def answer(sim: Simulator, exchange: Exchange, body: bytes, entry: Entry) -> None:  # noqa: ARG001
        await exchange.reply(Reply.json(content(sim, exchange.json(body))))

    return answer


async def _metrics(sim: Simulator, exchange: Exchange, body: bytes, entry: Entry) -> None:  # noqa: ARG001
    kind = "text/plain; version=1.0.0; charset=utf-8"
    await exchange.reply(Reply(200, page.render(sim.snapshot()).encode(), kind))


async def _docs(sim: Simulator, exchange: Exchange, body: bytes, entry: Entry) -> None:  # noqa: ARG001
    await exchange.reply(Reply(200, b"<!DOCTYPE html><title>FastAPI</title>", "text/html; charset=utf-8"))


async def _absent(sim: Simulator, exchange: Exchange, body: bytes, entry: Entry) -> None:  # noqa: ARG001
    raise refusal(501, f"{exchange.path} is not simulated", "NotImplementedError")


def _models(sim: Simulator) -> object:
    settings = sim.settings
    return shapes.models(sim.served, settings.model, settings.max_model_len, int(time.time()), sim.new_id())


def _tokenize(sim: Simulator, content: dict[str, object]) -> object:
    count = count_tokens(str(content.get("prompt") or content.get("messages") or ""))
    longest = sim.settings.max_model_len
    return {"count": count, "max_model_len": longest, "tokens": list(range(count)), "token_strs": None}


def _count_message(sim: Simulator, content: dict[str, object]) -> object:  # noqa: ARG001  # as _reads calls it
    count = count_tokens(str(content.get("messages") or ""))
    return {"input_tokens": count, "context_management": {"original_input_tokens": count}}


def _detokenize(sim: Simulator, content: dict[str, object]) -> object:  # noqa: ARG001  # as _reads calls it
    tokens = content.get("tokens")
    return {"prompt": "".join(words(str(tokens), len(tokens) if isinstance(tokens, list) else 0))}


_healthy = does(lambda sim: None)  # noqa: ARG005  # nothing to do: answering is the answer
_load = says(lambda sim: {"server_load": sim.load if sim.settings.track_load else 0})

ROUTES: dict[str, Route] = {
    "/health": Route(("GET",), _healthy),
    "/ping": Route(("GET", "POST"), _healthy),
    "/version": Route(("GET",), says(lambda _: {"version": VERSION})),
    "/load": Route(("GET",), _load),
    "/metrics": Route(("GET",), _metrics),
    "/v1/models": Route(("GET",), says(_models)),
    "/v1/chat/completions": Route(("POST",), generate.by(dialects.CHAT)),
    "/v1/completions": Route(("POST",), generate.by(dialects.COMPLETION)),
    "/v1/messages": Route(("POST",), generate.by(dialects.MESSAGES)),
    "/v1/responses": Route(("POST",), generate.by(dialects.RESPONSES)),
    "/v1/messages/count_tokens": Route(("POST",), reads(_count_message)),
    "/invocations": Route(("POST",), generate.invocations),
    "/tokenize": Route(("POST",), reads(_tokenize)),
    "/detokenize": Route(("POST",), reads(_detokenize)),
    "/is_scaling_elastic_ep": Route(("POST",), says(lambda _: {"is_scaling_elastic_ep": False})),
    "/kv_event_sources": Route(("GET",), says(lambda _: {})),
    "/openapi.json": Route(("GET", "HEAD"), says(lambda _: {"openapi": "3.1.0", "info": {"title": "FastAPI"}})),
    **{path: Route(("GET", "HEAD"), _docs) for path in ("/docs", "/docs/oauth2-redirect", "/redoc")},
    "/generative_scoring": Route(("POST",), _absent),
    "/scale_elastic_ep": Route(("POST",), _absent),
    "/v1/systemone": Route(("POST",), _absent),
    "/v1/chat/completions/batch": Route(("POST",), _absent),
}

# What vLLM serves only in development mode, or with LoRA loading or a profiler switched on; they are here so that a
# test can prove that a proxy hides them.
ADMIN_ROUTES: dict[str, Route] = {
    "/pause": Route(("POST",), does(lambda sim: sim.pause(True))),
    "/resume": Route(("POST",), does(lambda sim: sim.pause(False))),
    "/is_paused": Route(("GET",), says(lambda sim: {"is_paused": sim.paused})),
    "/sleep": Route(("POST",), does(lambda sim: sim.sleep(True))),
    "/wake_up": Route(("POST",), does(lambda sim: sim.sleep(False))),
    "/is_sleeping": Route(("GET",), says(lambda sim: {"is_sleeping": sim.asleep})),
    "/server_info": Route(("GET",), says(lambda sim: {"vllm_config": {"model": sim.settings.model}})),
    "/reset_prefix_cache": Route(("POST",), _healthy),
    "/reset_mm_cache": Route(("POST",), _healthy),
    "/collective_rpc": Route(("POST",), says(lambda _: {"results": [None]})),
    "/v1/load_lora_adapter": Route(("POST",), _healthy),
    "/v1/unload_lora_adapter": Route(("POST",), _healthy),
    "/start_profile": Route(("POST",), _healthy),
    "/stop_profile": Route(("POST",), _healthy),
}


# In the place of what generates, where vLLM runs a pooling model: docs.vllm.ai, models/pooling_models. Not captured.
_GENERATING = ("/v1/chat/completions", "/v1/completions", "/v1/messages", "/v1/responses")
EMBEDS: dict[str, Route] = {
    **{path: route for path, route in ROUTES.items() if not path.startswith(_GENERATING)},
    "/v1/embeddings": Route(("POST",), embedding.by(embedding.shape)),
}


def find_for(path: str, settings: Settings) -> tuple[str, Route] | None:
    """(the route's path as routes.txt has it, the route) of an engine with these settings; None without one."""
    if settings.task == EMBED:
        return (path, EMBEDS[path]) if path in EMBEDS else None
    return find(path, settings.simulation.admin_routes)


def find(path: str, admin: bool) -> tuple[str, Route] | None:
    """(the route's path as routes.txt has it, the route); None when vLLM has no such path."""
    table = ROUTES | ADMIN_ROUTES if admin else ROUTES
    if path in table:
        return path, table[path]
    stored = path.removeprefix("/v1/responses/").removesuffix("/cancel")
    if path.startswith("/v1/responses/") and stored and "/" not in stored:
        if path.endswith("/cancel"):
            return "/v1/responses/{response_id}/cancel", Route(("POST",), _unknown_response)
        return "/v1/responses/{response_id}", Route(("GET",), _unknown_response)
    return None


async def _unknown_response(sim: Simulator, exchange: Exchange, body: bytes, entry: Entry) -> None:  # noqa: ARG001
    name = exchange.path.split("/")[3]
    raise refusal(404, f"Response with id '{name}' not found.", "invalid_request_error", "response_id")
