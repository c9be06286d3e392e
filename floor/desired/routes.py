"""What clients may ask of an engine through the proxy. What is not here is 404."""

from __future__ import annotations

from dataclasses import dataclass

HEALTH = "/floor/health"
# The status page: its own files, and the documents that it draws (floor/metrics/status_page.py serves them).
PAGE = tuple(f"/floor/{name}" for name in ("", "page.css", "page.js", "charts.js", "now.json", "hour.json"))


@dataclass(frozen=True)
class Route:
    """A path that is asked for as it is written, by one method."""

    path: str
    method: str = "POST"


@dataclass(frozen=True)
class Pattern:
    """Paths with an id between `before` and `after`; the id is letters, digits, `_` and `-`."""

    before: str
    after: str
    method: str


# The inference API as vLLM 0.32 has it. Left out although it answers there: /tokenize and /detokenize (not of OpenAI's
# API, and without the engine's key), /v1/…/render (shows the template), /score and /rerank (the same under /v1, keyed),
# /v1/systemone, and all that administers.
ROUTES = (
    Route("/v1/models", "GET"),
    Route("/v1/chat/completions"),
    Route("/v1/chat/completions/batch"),
    Route("/v1/completions"),
    Route("/v1/responses"),
    Route("/v1/messages"),
    Route("/v1/messages/count_tokens"),
    Route("/v1/embeddings"),
    Route("/v1/score"),
    Route("/v1/rerank"),
    Route("/v2/rerank"),
    Route("/v1/audio/transcriptions"),
    Route("/v1/audio/translations"),
    Route("/v1/realtime", "GET"),
)
PATTERNS = (
    Pattern("/v1/responses/", "", "GET"),
    Pattern("/v1/responses/", "/cancel", "POST"),
)
