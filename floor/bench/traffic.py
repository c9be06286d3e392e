"""What is asked: a built-in mix of short chats and long agent prompts, or requests of one's own. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from floor.errors import UsageError

CHAT, COMPLETION = "/v1/chat/completions", "/v1/completions"
# Words of the prompt and tokens of the answer. Chats are short, agents carry long contexts.
SHORT = ((40, 200), (120, 300), (300, 250))
LONG = ((4000, 300), (9000, 400), (16000, 250))
MIXES: Mapping[str, tuple[tuple[int, int], ...]] = {"short": SHORT, "long": LONG, "mix": (*SHORT, *SHORT, *LONG)}
_MOST = 100_000  # requests of a file


@dataclass(frozen=True)
class Request:
    """Where it is sent, and its body but for the model and how it is streamed. `numbered`: each time it is sent its
    prompt begins with another number."""

    path: str
    body: Mapping[str, Any]
    numbered: bool = False


def built_in(name: str) -> tuple[Request, ...]:
    """Given the name of a mix, return its requests in turn. Raise UsageError naming the known ones."""
    if name not in MIXES:
        raise UsageError(f"--mix {name}: there is no such mix; write one of {', '.join(MIXES)}")
    return tuple(
        Request(
            CHAT,
            {"messages": [{"role": "user", "content": "word " * words}], "max_tokens": tokens, "ignore_eos": True},
            numbered=True,
        )
        for words, tokens in MIXES[name]
    )


def read(text: str, name: str) -> tuple[Request, ...]:
    """Given the lines of a file, each a request's body as JSON, and the file's name, return the requests. Raise
    UsageError naming the line that is none."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            body = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{name}:{number}: is not JSON ({error}); write one request's body a line") from error
        path = _path(body)
        if path is None:
            raise UsageError(f"{name}:{number}: is no request; write an object with `messages` or `prompt`")
        found.append(Request(path, {key: value for key, value in body.items() if key not in ("model", "stream")}))
    if not found:
        raise UsageError(f"{name}: holds no request; write one request's body a line")
    if len(found) > _MOST:
        raise UsageError(f"{name}: holds {len(found)} requests; {_MOST} are enough")
    return tuple(found)


def _path(body: object) -> str | None:
    if not isinstance(body, dict):
        return None
    messages = body.get("messages")
    if isinstance(messages, list) and messages and all(isinstance(one, dict) for one in messages):
        return CHAT
    return COMPLETION if body.get("prompt") else None


def numbered(requests: Sequence[Request], number: int) -> Request:
    """The request to send as the `number`th. A built-in one begins with that number: the cache of the engine would
    answer a prompt that it knows, and nobody's traffic is as alike as that. One's own are sent as they are."""
    request = requests[number % len(requests)]
    if not request.numbered:
        return request
    first, *others = request.body["messages"]
    first = {**first, "content": f"{number} {first['content']}"}
    return Request(request.path, {**request.body, "messages": [first, *others]})


def digest(requests: Sequence[Request]) -> str:
    """What tells requests from others: twelve digits."""
    text = json.dumps([[one.path, one.body] for one in requests], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
