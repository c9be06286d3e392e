"""A scripted engine behind httpx.MockTransport, and a clock that moves only when told."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from floor.healthcheck.client import make_client
from floor.healthcheck.target import Target


@dataclass
class Clock:
    """Seconds that pass only when something takes them."""

    now: float = 100.0

    def __call__(self) -> float:
        return self.now

    async def pause(self, seconds: float) -> None:
        self.now += seconds


@dataclass
class Engine:
    """An engine in a few numbers. Each thing that it does can be replaced; what it was asked is kept."""

    clock: Clock = field(default_factory=Clock)
    health: Any = 200
    models: Any = ("flagship",)
    metrics: Any = None
    generation: Any = 1
    running: int = 0
    waiting: int = 0
    generated: int = 0
    took: float = 0.2
    asked: list[httpx.Request] = field(default_factory=list)

    def client(self) -> httpx.AsyncClient:
        return make_client(httpx.MockTransport(self._answer))

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        path = request.url.path
        if path == "/health":
            return self._make(self.health)
        if path == "/v1/models":
            listed = self.models
            if isinstance(listed, tuple):
                listed = {"object": "list", "data": [{"id": name} for name in listed]}
            return self._make(listed)
        if path == "/metrics":
            return self._make(self.page() if self.metrics is None else self.metrics)
        self.clock.now += self.took
        made = self.generation
        if isinstance(made, int) and not isinstance(made, bool) and made < 100:
            made = {"choices": [{"message": {"content": ""}}], "usage": {"completion_tokens": made}}
        return self._make(made, request)

    def page(self) -> str:
        return (
            f'vllm:num_requests_running{{engine="0"}} {self.running}.0\n'
            f'vllm:num_requests_waiting{{engine="0"}} {self.waiting}.0\n'
            f'vllm:generation_tokens_total{{engine="0"}} {self.generated}.0\n'
        )

    def _make(self, what: Any, request: httpx.Request | None = None) -> httpx.Response:
        """An exception is raised, a status is answered empty, text as text, and anything else as JSON."""
        if callable(what):
            what = what(request)
        if isinstance(what, Exception):
            raise what
        if isinstance(what, httpx.Response):
            return what
        if isinstance(what, int):
            return httpx.Response(what)
        if isinstance(what, (str, bytes)):
            return httpx.Response(200, content=what)
        return httpx.Response(200, content=json.dumps(what))


@pytest.fixture
def engine() -> Engine:
    return Engine()


@pytest.fixture
def make_target() -> Callable[..., Target]:
    def make(**given: Any) -> Target:
        return Target(**{"name": "flagship@a", "url": "http://192.0.2.11:8000", "model": "flagship", **given})

    return make
