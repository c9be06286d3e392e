"""One look at a copy's metrics: bounded in time and bytes, and every ending of it is data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import httpx

from floor.healthcheck.ask import Request, ask
from floor.healthcheck.dialects import find
from floor.healthcheck.sample import Answer, Fault
from floor.healthcheck.target import Target

from .exposition import Reader, UnreadableError
from .normalise import Figures, ollama, present
from .settings import Backend
from .values import Page

PAGE_LIMIT = 2 * 1024 * 1024  # bytes; a vLLM page has 60,000, and one of eight engines 500,000
OK = "ok"
_KEY_REFUSED = 401
_REASONS: Mapping[Fault, str] = {
    Fault.REFUSED: "refused",
    Fault.DROPPED: "dropped",
    Fault.UNREACHABLE: "unreachable",
    Fault.TIMED_OUT: "timed_out",
    Fault.NOT_HTTP: "not_http",
}


@dataclass(frozen=True)
class Look:
    """What one look brought: `reason` is `ok` or one word, `detail` says it in words, `seconds` is how long it took.

    A page of metrics is under its present names; an engine without one has `figures` alone.
    """

    reason: str
    detail: str
    seconds: float
    page: Page = field(default_factory=dict)
    figures: Figures | None = None

    @property
    def up(self) -> bool:
        return self.reason == OK


async def look(
    client: httpx.AsyncClient,
    backend: Backend,
    keys: Sequence[str],
    reader: Reader,
    *,
    clock: Callable[[], float],
    within: float,
) -> Look:
    """Ask `backend` once, `within` so many seconds; with the engine keys given where it wants one, the next one after a
    401. Nothing that a network or a server can do is raised."""
    dialect = find(backend.dialect)
    answer, body = None, b""
    began = clock()
    for key in keys if backend.key and keys else (None,):
        target = Target(backend.name, backend.url, backend.model, backend.dialect, key)
        request = Request("GET", dialect.metrics, PAGE_LIMIT)
        left = max(within - (clock() - began), 0.01)
        answer, body = await ask(client, target, request, clock=clock, within=left)
        if answer.status != _KEY_REFUSED:
            break
    assert answer is not None  # noqa: S101 -- there is one key, or none, at least
    return read(backend, answer, body, reader, clock() - began)


def read(backend: Backend, answer: Answer, body: bytes, reader: Reader, seconds: float) -> Look:
    """Given how a look ended and what came, return what it means."""
    if answer.fault is not None:
        return Look(_REASONS[answer.fault], answer.detail, seconds)
    if answer.status != 200:
        hint = "; llama.cpp shows metrics with --metrics alone" if answer.status == 501 else ""
        return Look(f"http_{answer.status}", f"{answer}{hint}", seconds)
    if len(body) >= PAGE_LIMIT:
        return Look("too_long", f"the page is longer than {PAGE_LIMIT} bytes", seconds)
    try:
        if backend.dialect == "ollama":
            return Look(OK, "", seconds, figures=ollama(body, backend.model))
        return Look(OK, "", seconds, present(reader.read(body)))
    except UnreadableError as error:
        return Look("unreadable", f"the page {error}", seconds)
