"""One request over httpx, and what came back, byte for byte with its times."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from ..wire.exchange import BROKEN, REFUSED, TIMED_OUT, Exchange

CHAT = "/v1/chat/completions"


@dataclass(frozen=True)
class Endpoint:
    """What is tested: `url` without a path, the served name, the key it wants, and `timeout`, seconds a request."""

    url: str
    model: str = ""
    key: str = ""
    timeout: float = 300.0

    @property
    def headers(self) -> dict[str, str]:
        """With each request. Nothing may be packed: bytes are recorded as they come."""
        return {"Accept-Encoding": "identity"} | ({"Authorization": f"Bearer {self.key}"} if self.key else {})


def make_client(endpoint: Endpoint, transport: httpx.AsyncBaseTransport | None = None) -> httpx.AsyncClient:
    """A client that opens a connection for each request: one that was closed meanwhile would look like a fault."""
    return httpx.AsyncClient(
        base_url=endpoint.url.rstrip("/").removesuffix("/v1"),
        headers=endpoint.headers,
        timeout=httpx.Timeout(endpoint.timeout, connect=10.0),
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
        trust_env=False,
        transport=transport,
    )


async def send(client: httpx.AsyncClient, body: Mapping[str, Any], clock: Callable[[], float]) -> Exchange:
    """Send a chat request and record the answer. A request that fails is an Exchange too; nothing is raised.

    The client's time to read is that of the whole request as well: a server that goes on sending has no pauses.
    """
    begun = clock()
    status, kind, parts, arrivals, failure = None, "", [], [], ""
    try:
        async with asyncio.timeout(client.timeout.read), client.stream("POST", CHAT, json=body) as answer:
            status, kind = answer.status_code, answer.headers.get("content-type", "")
            length = 0
            async for chunk in answer.aiter_raw():
                parts.append(chunk)
                length += len(chunk)
                arrivals.append((clock() - begun, length))
    except httpx.ConnectError:
        failure = REFUSED
    except (httpx.TimeoutException, TimeoutError):
        failure = TIMED_OUT
    except httpx.TransportError:
        failure = BROKEN
    return Exchange(body, status, b"".join(parts), kind, tuple(arrivals), clock() - begun, failure)
