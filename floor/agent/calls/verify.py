"""One chat, or one embedding, through this box's proxy, as a client would send it."""

from __future__ import annotations

import json
from typing import Any

from floor.agent.call import Call

PROMPT = "Say hello."
TOKENS = 16
LONGEST = 600.0  # seconds; a chat of so few tokens takes one


def chat(call: Call) -> dict[str, Any]:
    """{port, model, stream, timeout} → {status, events, first_byte, seconds, text, error}.

    `events` counts the chunks with content, `first_byte` and `seconds` run from the sending of the request; all that a
    network can do is told in `error`, `status` is null then.
    """
    import httpx

    params = call.params
    port, model, stream = params.whole("port", 1), params.text("model"), params.flag("stream")
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
            httpx.Client(trust_env=False, timeout=min(LONGEST, params.number("timeout", 60.0))) as client,
            client.stream("POST", f"http://127.0.0.1:{port}/v1/chat/completions", json=body) as response,
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
    """{port, model, timeout} → {status, events, seconds, error}; `events` counts the vectors or scores that came.

    A model that only orders texts by a question refuses to embed and is asked for that.
    """
    import httpx

    from floor.healthcheck.dialects import openai
    from floor.healthcheck.probe import NOT_FOR_IT

    params = call.params
    began = call.clock()
    found: dict[str, Any] = {"status": None, "events": 0, "error": None}
    try:
        with httpx.Client(trust_env=False, timeout=min(LONGEST, params.number("timeout", 60.0))) as client:
            for path, body in openai.embeddings(params.text("model")):
                response = client.post(f"http://127.0.0.1:{params.whole('port', 1)}{path}", json=body)
                if response.status_code not in NOT_FOR_IT:
                    break
    except httpx.HTTPError as error:
        found["error"] = f"{type(error).__name__}: {error}"
    else:
        found |= {"status": response.status_code, "events": openai.embedded(response.content) or 0}
    return {**found, "seconds": call.clock() - began}


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
