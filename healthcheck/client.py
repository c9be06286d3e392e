"""The one HTTP client for asking engines."""

from __future__ import annotations

import httpx


def make_client(transport: httpx.AsyncBaseTransport | None = None) -> httpx.AsyncClient:
    """Return a client for `probe` and `check`; close it when done. `transport` replaces the network in tests.

    No keep-alive: an engine closes idle connections after 5 s (uvicorn's default), and only a new connection tells a
    box that is gone from an engine that is silent. The proxy variables of the environment do not matter: backends are
    asked directly. No limit on connections, so that silent backends never make another one wait. No redirects: an
    engine has none. Times are bounded by each request's own deadline (`ask`), not here.
    """
    return httpx.AsyncClient(
        trust_env=False,
        follow_redirects=False,
        timeout=None,  # noqa: S113 - every request is bounded by a deadline for the whole of it, body included
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
        # A compressed body could grow beyond any bound when it is opened.
        headers={"User-Agent": "floor-healthcheck", "Accept": "*/*", "Accept-Encoding": "identity"},
        transport=transport,
    )
