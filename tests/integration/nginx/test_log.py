"""One JSON line a request in the journal, with what a person asks: which copy, how long, how many tries."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.nginx.client import ask
from tests.integration.nginx.engine import Engine
from tests.integration.proxy import Copy, Proxy, free_port, site

CHAT = "/v1/chat/completions"


@pytest.fixture(scope="module")
def proxy(engine: Engine) -> Iterator[Proxy]:
    """A copy that answers and one that refuses."""
    with Proxy(site([Copy(engine.host, engine.port), Copy("127.0.0.3", free_port("127.0.0.3"))])) as proxy:
        yield proxy


def test_a_line_tells_of_the_copy_and_the_tries(proxy: Proxy, engine: Engine) -> None:
    for _ in range(2):
        ask(proxy.port(), CHAT + "?api_key=secret", b'{"a": 1}')
    proxy.until(lambda: len(proxy.log()) >= 2, "two lines")
    line = max(proxy.log(), key=lambda line: len(line["upstream"]))
    assert line["upstream"].split(", ")[-1] == f"{engine.host}:{engine.port}"
    assert len(line["upstream"].split(", ")) == len(line["connect"].split(", ")) == 2
    assert (line["status"], line["upstream_status"], line["model"]) == (200, "502, 200", "flagship")
    assert (line["method"], line["path"], line["client"]) == ("POST", CHAT, "127.0.0.1")
    assert line["sent"] > len("reached")
    assert line["received"] > len(CHAT)
    assert 0 <= line["seconds"] < 5
    assert len(line["id"]) == 32
    assert "secret" not in str(proxy.log())


def test_odd_clients_cannot_forge_a_line(proxy: Proxy) -> None:
    before = len(proxy.log())
    ask(proxy.port(), "/x%22,%22status%22:200,%22y%22:%22%0a%5c", method="GET")
    proxy.until(lambda: len(proxy.log()) > before, "a line")
    assert proxy.log()[-1]["status"] == 404
    assert proxy.log()[-1]["path"] == '/x","status":200,"y":"\n\\'


def test_the_reason_of_a_503_is_in_the_line(proxy: Proxy) -> None:
    proxy.members(["flagship@box1"])
    before = len(proxy.log())
    ask(proxy.port(), CHAT, b"{}")
    proxy.until(lambda: len(proxy.log()) > before, "a line")
    line = proxy.log()[-1]
    assert (line["status"], line["upstream_status"]) == (503, "502, 503")
    assert line["upstream"].endswith("empty.sock")


def test_probes_and_lists_of_models_do_not_fill_the_journal(proxy: Proxy) -> None:
    proxy.members(proxy.backends)
    before = len(proxy.log())
    for _ in range(5):
        ask(proxy.port(), "/floor/health", method="GET")
        ask(proxy.port(), "/v1/models", method="GET")
    ask(proxy.port(), "/metrics", method="GET")
    proxy.until(lambda: len(proxy.log()) > before, "the line of the last one")
    assert [line["path"] for line in proxy.log()[before:]] == ["/metrics"]
