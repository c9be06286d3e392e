"""llama.cpp's server: its routes, its key, its words for what it refuses, its headers."""

from __future__ import annotations

import time

from floor.sim import embedding, generate, llamacpp_page, llamacpp_shapes
from floor.sim.dialects import Dialect
from floor.sim.exchange import Exchange, Headers, Reply
from floor.sim.journal import Entry
from floor.sim.kind import Kind
from floor.sim.llamacpp_shapes import TYPES, refusal
from floor.sim.refusals import Refusal
from floor.sim.routes import Route, reads, says
from floor.sim.settings import EMBED, Settings
from floor.sim.simulator import Simulator
from floor.sim.wording import count_tokens

CHAT = Dialect("chatcmpl-", llamacpp_shapes.decide_chat, llamacpp_shapes.chat, llamacpp_shapes.Stream)
COMPLETION = Dialect(
    "cmpl-", llamacpp_shapes.decide_completion, llamacpp_shapes.completion, llamacpp_shapes.completion_stream
)
PUBLIC = ("/", "/health", "/v1/health")  # no key is asked for these
_KIND = b"application/json; charset=utf-8"


async def _metrics(sim: Simulator, exchange: Exchange, body: bytes, entry: Entry) -> None:  # noqa: ARG001
    if not sim.settings.metrics:
        raise refusal(501, "This server does not support metrics endpoint. Start it with `--metrics`")
    await exchange.reply(Reply(200, llamacpp_page.render(sim).encode(), "text/plain; version=0.0.4"))


async def _no_embeddings(sim: Simulator, exchange: Exchange, body: bytes, entry: Entry) -> None:  # noqa: ARG001
    raise refusal(501, "This server does not support embeddings. Start it with `--embeddings`")


async def _no_rerank(sim: Simulator, exchange: Exchange, body: bytes, entry: Entry) -> None:  # noqa: ARG001
    raise refusal(501, "This server does not support reranking. Start it with `--reranking`")


def _models(sim: Simulator) -> object:
    return llamacpp_shapes.models(sim.served, sim.settings, int(time.time()))


def _props(sim: Simulator) -> object:
    longest, slots = sim.settings.max_model_len, sim.settings.max_num_seqs
    about = {"model_alias": sim.served[0], "model_path": sim.settings.model, "build_info": llamacpp_shapes.FINGERPRINT}
    return {"default_generation_settings": {"n_ctx": longest}, "total_slots": slots, **about, "is_sleeping": False}


_health = Route(("GET",), says(lambda _: {"status": "ok"}))
_listed = Route(("GET",), says(_models))
_always = {
    "/health": _health,
    "/v1/health": _health,
    "/models": _listed,
    "/v1/models": _listed,
    "/metrics": Route(("GET",), _metrics),
    "/slots": Route(("GET",), says(llamacpp_page.slots)),
    "/props": Route(("GET",), says(_props)),
    "/tokenize": Route(
        ("POST",), reads(lambda _, content: {"tokens": list(range(count_tokens(str(content.get("content") or ""))))})
    ),
    "/v1/rerank": Route(("POST",), _no_rerank),
}
_chat, _completion = Route(("POST",), generate.by(CHAT)), Route(("POST",), generate.by(COMPLETION))
_vectors = embedding.by(embedding.plain, known=lambda _name, _served: True)


async def _embeds(sim: Simulator, exchange: Exchange, body: bytes, entry: Entry) -> None:
    try:
        await _vectors(sim, exchange, body, entry)
    except Refusal as found:
        if found.error.get("param") != "input_tokens":
            raise
        count = count_tokens(str(exchange.json(body).get("input")))
        message = (
            f"input ({count} tokens) is too large to process. increase the physical batch size (current batch size: "
        )
        raise refusal(500, f"{message}{sim.settings.max_model_len})") from None


_embed = Route(("POST",), _embeds)
GENERATES = {
    **_always,
    **dict.fromkeys(("/chat/completions", "/v1/chat/completions"), _chat),
    **dict.fromkeys(("/completions", "/v1/completions"), _completion),
    "/v1/embeddings": Route(("POST",), _no_embeddings),
}
# With --embeddings it goes on answering chats: seen of a real one.
EMBEDS = {**GENERATES, "/v1/embeddings": _embed}


def find(path: str, settings: Settings) -> tuple[str, Route] | None:
    """(the path, its route); None where there is none."""
    table = EMBEDS if settings.task == EMBED else GENERATES
    return (path, table[path]) if path in table else None


def refused(found: Refusal) -> Reply:
    """What is answered instead: code, message and type, and more where it knows more."""
    known = dict(found.error)
    if "param" in known:  # in vLLM's words so far
        known = {"code": found.status, "message": known["message"], "type": TYPES.get(found.status, "server_error")}
    return Reply.json({"error": known}, found.status)


def dress(status: int, headers: Headers) -> Headers:
    """As cpp-httplib writes them: an error closes the connection, anything else keeps it for 5 s."""
    given = {name: value for name, value in headers if name != b"vary"}
    about = [(b"Server", b"llama.cpp"), (b"Access-Control-Allow-Origin", b"")]
    kind = given.get(b"content-type", _KIND)
    if kind.startswith(b"text/event-stream"):
        about += [(b"X-Accel-Buffering", b"no"), (b"Content-Type", b"text/event-stream")]
    else:
        about.append((b"Content-Type", _KIND if kind.startswith(b"application/json") else kind))
    if b"content-length" in given:
        about.append((b"Content-Length", given[b"content-length"]))
    closing = (b"Connection", b"close") if status >= 400 else (b"Keep-Alive", b"timeout=5, max=100")
    return (*about, closing)


KIND = Kind(
    find=find,
    keyed=lambda path: path not in PUBLIC,
    unauthorized=Reply.json(
        {"error": {"message": "Invalid API Key", "type": "authentication_error", "code": 401}}, 401
    ),
    unknown=Reply.json({"error": {"message": "File Not Found", "type": "not_found_error", "code": 404}}, 404),
    refused=refused,
    dress=dress,
    banner=False,
    drains=False,
)
