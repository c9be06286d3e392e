from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.nginx.engine import Engine
from tests.integration.proxy import Copy, Proxy, site

CHAT = "/v1/chat/completions"


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """A copy under the real uvicorn."""
    with Engine() as engine:
        yield engine


@pytest.fixture(scope="module")
def proxy(engine: Engine) -> Iterator[Proxy]:
    """The proxy in front of `engine` alone."""
    with Proxy(site([Copy(engine.host, engine.port)])) as proxy:
        yield proxy


@pytest.fixture(autouse=True)
def _fresh(request: pytest.FixtureRequest) -> None:
    """Each test sees its own calls only."""
    if "engine" in request.fixturenames:
        found: Engine = request.getfixturevalue("engine")
        found.calls.clear()
        found.headers.clear()
        found.sent = 0
