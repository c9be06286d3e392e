"""Ollama, from its documentation and source (docs/api.md, docs/openai.md, openai/openai.go, server/routes.go of
ollama/ollama); nothing here was captured from a real one.

It is up at once and loads its model when it is first asked for it. It has no key, and turns away foreign Origins.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from hashlib import sha256
from urllib.parse import urlsplit

from floor.sim import embedding, generate, ollama_shapes
from floor.sim.dialects import Dialect
from floor.sim.exchange import Exchange, Headers, Reply
from floor.sim.generate import Handler
from floor.sim.journal import Entry
from floor.sim.kind import Kind
from floor.sim.refusals import Refusal
from floor.sim.routes import Route, does, says
from floor.sim.settings import EMBED, Settings
from floor.sim.simulator import Simulator

VERSION = "0.0.0"  # of none: nothing was captured
LATEST = ":latest"
_OWN = ("localhost", "127.0.0.1", "0.0.0.0", "::1")  # noqa: S104  # origins that it takes; nothing is bound here
CHAT = Dialect("chatcmpl-", ollama_shapes.decide_chat, ollama_shapes.chat, ollama_shapes.Stream)
COMPLETION = Dialect(
    "cmpl-", ollama_shapes.decide_completion, ollama_shapes.completion, ollama_shapes.completion_stream
)


def _loads(handler: Handler) -> Handler:
    """A route that needs the model in memory: whoever asks first waits for the load, as do all who ask meanwhile."""

    async def answer(sim: Simulator, exchange: Exchange, body: bytes, entry: Entry) -> None:
        if not sim.resident:
            async with sim.loading:
                if not sim.resident:
                    await asyncio.sleep(sim.settings.load_time)
                    sim.resident = True
        await handler(sim, exchange, body, entry)

    return answer


def _digest(name: str) -> str:
    return sha256(name.encode()).hexdigest()


def _entry(sim: Simulator, name: str) -> dict[str, object]:
    details = {"parent_model": "", "format": "gguf", "family": "llama", "families": ["llama"]}
    details |= {"parameter_size": "7.2B", "quantization_level": "Q4_0"}
    size = round(sim.settings.simulation.model_gib * 2**30)
    return {"name": name + LATEST, "model": name + LATEST, "size": size, "digest": _digest(name), "details": details}


def _tags(sim: Simulator) -> object:
    now = datetime.now(UTC).isoformat()
    return {"models": [{**_entry(sim, name), "modified_at": now} for name in sim.served]}


def _ps(sim: Simulator) -> object:
    entry = _entry(sim, sim.served[0])
    on_card = 0 if sim.faults.get("slow", sim.now()) else entry["size"]
    more = {"expires_at": "2318-01-01T00:00:00Z", "size_vram": on_card, "context_length": sim.settings.max_model_len}
    return {"models": [{**entry, **more}] if sim.resident else []}


def _unload(sim: Simulator) -> None:
    sim.resident = False


async def _alive(sim: Simulator, exchange: Exchange, body: bytes, entry: Entry) -> None:  # noqa: ARG001
    await exchange.reply(Reply(200, b"Ollama is running", "text/plain; charset=utf-8"))


_chat = Route(("POST",), _loads(generate.by(CHAT)))
_completion = Route(("POST",), _loads(generate.by(COMPLETION)))
_embed = Route(
    ("POST",),
    _loads(embedding.by(ollama_shapes.embeddings, known=lambda name, served: name.removesuffix(LATEST) in served)),
)
_refuses = Route(("POST",), _loads(ollama_shapes.no_chat))
_always = {
    "/": Route(("GET", "HEAD"), _alive),
    "/api/version": Route(("GET",), says(lambda _: {"version": VERSION})),
    "/api/tags": Route(("GET",), says(_tags)),
    "/api/ps": Route(("GET",), says(_ps)),
    # What must never be reached by clients: whoever can may pull and delete models.
    "/api/pull": Route(("POST",), says(lambda _: {"status": "success"})),
    "/api/delete": Route(("DELETE",), does(_unload)),
    "/v1/models": Route(("GET",), says(lambda sim: ollama_shapes.models(sim.served))),
    "/v1/embeddings": _embed,
}
GENERATES = {**_always, "/v1/chat/completions": _chat, "/v1/completions": _completion}
EMBEDS = {**_always, **dict.fromkeys(("/v1/chat/completions", "/v1/completions"), _refuses)}


def find(path: str, settings: Settings) -> tuple[str, Route] | None:
    """(the path, its route); None where there is none."""
    table = EMBEDS if settings.task == EMBED else GENERATES
    return (path, table[path]) if path in table else None


def refused(found: Refusal) -> Reply:
    """What is answered instead, in the shape of its OpenAI-like API."""
    return Reply.json(ollama_shapes.error(found.status, str(found.error["message"])), found.status)


def forbids(exchange: Exchange, settings: Settings) -> bool:
    """Whether it turns the client away: any foreign Origin, and, while it listens on this machine alone, a foreign Host
    (ollama#6021, #3269)."""
    origin = urlsplit(exchange.header(b"origin") or "http://localhost").hostname
    if origin not in _OWN:
        return True
    host = urlsplit(f"//{exchange.header(b'host') or 'localhost'}").hostname or ""
    return settings.host in _OWN and host not in _OWN and not host.endswith((".localhost", ".local", ".internal"))


def dress(status: int, headers: Headers) -> Headers:  # noqa: ARG001  # as a Kind has it
    """As gin writes them."""
    kept = [(name, value) for name, value in headers if name != b"vary"]
    json = b"application/json; charset=utf-8"
    return tuple((name, json if value == b"application/json" else value) for name, value in kept)


KIND = Kind(
    find=find,
    keyed=lambda _: False,
    unauthorized=Reply(401),
    unknown=Reply(404, b"404 page not found", "text/plain"),
    refused=refused,
    forbids=forbids,
    dress=dress,
    banner=False,
    drains=False,
)
