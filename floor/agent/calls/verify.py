"""One chat, or one embedding, through this box's proxy (or the one at `host`), as a client would send it."""

from __future__ import annotations

import json
import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Any

from floor.agent.call import Call
from floor.box import clients, paths
from floor.errors import FloorError

if TYPE_CHECKING:
    import httpx

PROMPT = "Say hello."
TOKENS = 16
LOOPBACK = "127.0.0.1"
LONGEST = 600.0  # seconds; a chat of so few tokens takes one


def chat(call: Call) -> dict[str, Any]:
    """{port, model, stream, certificate, host, timeout} → {status, events, first_byte, seconds, text, error}.

    With `certificate` over https, and only to who has just that one. Where clients need a key it is floor's own.

    `events` counts the chunks with content, `first_byte` and `seconds` run from the sending of the request; all that a
    network can do is told in `error`, `status` is null then.
    """
    import httpx

    params = call.params
    model, stream = params.text("model"), params.flag("stream")
    body = {
        "model": model,
        "messages": [{"role": "user", "content": PROMPT}],
        "max_tokens": TOKENS,
        "temperature": 0,
        "stream": stream,
    }
    began = call.clock()
    found: dict[str, Any] = {"status": None, "events": 0, "first_byte": None, "text": "", "error": None}
    try:
        with (
            _client(call) as client,
            client.stream("POST", "/v1/chat/completions", json=body) as response,
        ):
            found["status"] = response.status_code
            raw = b""
            for chunk in response.iter_bytes():
                if found["first_byte"] is None:
                    found["first_byte"] = call.clock() - began
                raw += chunk
    except httpx.HTTPError as error:
        found["error"] = f"{type(error).__name__}: {error}"
    else:
        found.update(read(raw, stream=stream))
    return {**found, "seconds": call.clock() - began}


def embed(call: Call) -> dict[str, Any]:
    """{port, model, certificate, host, timeout} → {status, events, seconds, error}.

    `events` counts the vectors or scores that came. A model that only orders texts by a question refuses to embed and
    is asked for that.
    """
    import httpx

    from floor.healthcheck.dialects import openai
    from floor.healthcheck.probe import NOT_FOR_IT

    params = call.params
    began = call.clock()
    found: dict[str, Any] = {"status": None, "events": 0, "error": None}
    try:
        with _client(call) as client:
            for path, body in openai.embeddings(params.text("model")):
                response = client.post(path, json=body)
                if response.status_code not in NOT_FOR_IT:
                    break
    except httpx.HTTPError as error:
        found["error"] = f"{type(error).__name__}: {error}"
    else:
        found |= {"status": response.status_code, "events": openai.embedded(response.content) or 0}
    return {**found, "seconds": call.clock() - began}


def _client(call: Call) -> httpx.Client:
    """A client of this box's proxy, or of the one at `host`: over https with `certificate`, with floor's own key where
    clients need one."""
    import httpx

    certificate = call.params.maybe_text("certificate")
    host = call.params.maybe_text("host") or LOOPBACK
    place = f"[{host}]" if ":" in host else host
    keys = clients.read(call.root).get(clients.OWN, [])
    return httpx.Client(
        base_url=f"{'https' if certificate else 'http'}://{place}:{call.params.whole('port', 1)}",
        headers={"Authorization": f"Bearer {keys[0]}"} if keys else {},
        timeout=min(LONGEST, call.params.number("timeout", 60.0)),
        verify=pinned(paths.under(call.root, certificate)) if certificate else True,
        trust_env=False,
    )


def pinned(certificate: Path) -> ssl.SSLContext:
    """Given a file with a certificate, return what trusts a server that shows it, under whatever name it is asked: the
    box asks itself by 127.0.0.1. Raises FloorError for a file that holds none."""
    try:
        context = ssl.create_default_context(cafile=str(certificate))
    except (OSError, ssl.SSLError) as error:
        raise FloorError(f"{certificate}: cannot be read as a certificate: {error}") from None
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # it need not be an authority's own
    return context


def read(raw: bytes, *, stream: bool) -> dict[str, Any]:
    """Given the body of an answer, return {events, text, error}: what a client would have got out of it."""
    try:
        if not stream:
            message = json.loads(raw)["choices"][0]["message"]
            return {"events": 1, "text": said(message), "error": None}
        lines = [line[5:].strip() for line in raw.decode().splitlines() if line.startswith("data:")]
        chunks = [json.loads(line) for line in lines if line and line != "[DONE]"]
        texts = [said(choice.get("delta") or {}) for chunk in chunks for choice in chunk.get("choices") or ()]
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):
        return {
            "events": 0,
            "text": "",
            "error": f"not an answer of the OpenAI API: {raw[:200].decode(errors='replace')}",
        }
    ended = "[DONE]" in lines
    return {
        "events": sum(1 for text in texts if text),
        "text": "".join(texts),
        "error": None if ended else "the stream ended without data: [DONE]",
    }


def said(message: dict[str, Any]) -> str:
    """A reasoning model may spend all its tokens thinking: that is generation, too."""
    return str(message.get("content") or message.get("reasoning_content") or message.get("reasoning") or "")
