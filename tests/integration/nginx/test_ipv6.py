from __future__ import annotations

from tests.integration.nginx.client import Client
from tests.integration.nginx.raw import Backend
from tests.integration.proxy import Copy, Proxy, site


def test_both_kinds_of_address_where_the_box_has_them() -> None:
    with Backend(host="::1") as backend, Proxy(site([Copy("::1", backend.port)]), ipv6=True) as proxy:
        for host in ("127.0.0.1", "::1"):
            with Client(proxy.port(), host=host) as client:
                assert client.ask("/v1/models", method="GET").status == 200
    assert len(backend.requests) == 2
