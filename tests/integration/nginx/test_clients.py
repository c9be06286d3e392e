"""Client keys and https, by real nginx: who is let in, under which name, and what the engine sees of it."""

from __future__ import annotations

import ssl
import subprocess
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.integration.nginx.client import Client, ask
from tests.integration.nginx.conftest import CHAT
from tests.integration.nginx.engine import Engine
from tests.integration.proxy import KEY, Copy, Proxy, site

ALICE, OLD, CI = "alice-" + "A" * 40, "alice-" + "B" * 40, "ci-" + "C_-" * 14


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for localhost and its key, where nginx may read them."""
    folder = tmp_path_factory.mktemp("tls")
    found = folder / "chat.pem", folder / "chat.key"
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    subprocess.run([*words, *names, "-out", found[0], "-keyout", found[1]], check=True, capture_output=True)
    return found


@pytest.fixture(scope="module")
def proxy(engine: Engine, certificate: tuple[Path, Path]) -> Iterator[Proxy]:
    """The proxy for two clients over https."""
    # floor.yaml refuses what nginx may not read on a box, such as /tmp; here it may.
    tls = {"certificate": "/etc/ssl/floor/chat.pem", "key": "/etc/ssl/floor/chat.key"}
    made = Proxy(site([Copy(engine.host, engine.port)], clients=["alice", "ci"], tls=tls))
    text = next(path for path in made.files if path.endswith("tls.conf"))
    for path, place in zip(tls.values(), certificate, strict=True):
        made.files[text] = made.files[text].replace(path, str(place))
    made.clients = {"alice": [ALICE, OLD], "ci": [CI]}
    with made as running:
        yield running


@pytest.fixture
def client(proxy: Proxy, certificate: tuple[Path, Path]) -> Iterator[httpx.Client]:
    trust = ssl.create_default_context(cafile=str(certificate[0]))
    with httpx.Client(base_url=proxy.url, verify=trust, trust_env=False) as client:
        yield client


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ({"Authorization": f"Bearer {ALICE}"}, "alice"),
        ({"Authorization": f"bearer  {OLD}"}, "alice"),
        ({"Authorization": f"Bearer {CI}"}, "ci"),
        ({"X-Api-Key": CI}, "ci"),
    ],
)
def test_a_client_is_known_by_its_key_and_the_engine_sees_none_of_it(
    proxy: Proxy, engine: Engine, client: httpx.Client, header: dict[str, str], name: str
) -> None:
    before = len(proxy.log())
    assert client.post(CHAT, json={}, headers=header).status_code == 200
    seen = engine.calls[-1].headers
    assert seen["authorization"] == f"Bearer {KEY}"
    assert not {"x-api-key"} & set(seen)
    proxy.until(lambda: len(proxy.log()) > before, "the line of the log")
    line = proxy.log()[-1]
    assert line["client_name"] == name
    assert not [key for key in (ALICE, OLD, CI) if key in str(proxy.log()) + proxy.errors()]


@pytest.mark.parametrize(
    "header",
    [
        {},
        {"Authorization": ""},
        {"Authorization": f"Bearer {ALICE}x"},
        {"Authorization": f"Bearer {ALICE[:-1]}"},
        {"Authorization": f"Bearer {ALICE.swapcase()}"},
        {"Authorization": f"Basic {ALICE}"},
        {"Authorization": ALICE},
        {"Authorization": f"Bearer {KEY}"},
        {"Authorization": "Bearer alice"},
        {"X-Api-Key": f"{CI} x"},
        {"X-Api-Key": ".*"},
    ],
)
@pytest.mark.parametrize(("method", "path"), [("POST", CHAT), ("GET", "/v1/models"), ("GET", "/v1/responses/resp_1")])
def test_nobody_else_is_let_in(
    proxy: Proxy, engine: Engine, client: httpx.Client, header: dict[str, str], method: str, path: str
) -> None:
    answer = client.request(method, path, headers=header)
    assert (answer.status_code, engine.calls) == (401, [])
    assert answer.headers["www-authenticate"] == "Bearer"
    error = answer.json()["error"]
    assert (error["code"], error["type"]) == (401, "invalid_request_error")
    assert "Authorization: Bearer KEY" in error["message"]


def test_what_needs_no_key_needs_none(proxy: Proxy, engine: Engine, client: httpx.Client) -> None:
    """Browsers ask before they send one, monitors ask after the proxy; what is not there is not there for anybody."""
    assert client.options(CHAT).status_code == 200
    assert client.get("/floor/health").status_code == 200
    assert client.get("/metrics").status_code == 404


def test_both_keys_are_valid_until_the_old_one_is_gone(proxy: Proxy, client: httpx.Client) -> None:
    def status(key: str) -> int:
        return client.post(CHAT, json={}, headers={"Authorization": f"Bearer {key}"}).status_code

    assert (status(ALICE), status(OLD)) == (200, 200)
    proxy.clients = {"alice": [ALICE], "ci": [CI]}
    proxy.write()
    proxy.reload()
    assert (status(ALICE), status(OLD), status(CI)) == (200, 401, 200)
    for seconds, expected in ((3600, 200), (-1, 401)):  # one that ends by itself
        proxy.clients = {"alice": [ALICE, f"{OLD}@{time.time() + seconds:.0f}"], "ci": [CI]}
        proxy.write()
        proxy.reload()
        assert (status(ALICE), status(OLD)) == (200, expected)
    proxy.clients = {"alice": [ALICE, OLD], "ci": [CI]}
    proxy.write()
    proxy.reload()


def test_the_port_speaks_https_only_and_nothing_out_of_use(proxy: Proxy, certificate: tuple[Path, Path]) -> None:
    answer = ask(proxy.port(), CHAT, b"{}")
    assert (answer.status, answer.error["message"]) == (400, "This port speaks https.")
    with Client(proxy.port()) as plain:
        plain.raw(b"GET /v1/models HTTP/1.1\r\nHost: a\r\n\r\n")
        assert plain.answer().status == 400
    for version, taken in {
        ssl.TLSVersion.TLSv1_1: False,
        ssl.TLSVersion.TLSv1_2: True,
        ssl.TLSVersion.TLSv1_3: True,
    }.items():
        context = ssl.create_default_context(cafile=str(certificate[0]))
        context.set_ciphers("ALL:@SECLEVEL=0")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of the old version, which is asked for on purpose
            context.minimum_version = context.maximum_version = version
        if taken:
            httpx.get(f"{proxy.url}/floor/health", verify=context, trust_env=False).raise_for_status()
        else:
            with pytest.raises(httpx.ConnectError):
                httpx.get(f"{proxy.url}/floor/health", verify=context, trust_env=False)


def test_a_copy_is_sent_the_key_that_it_takes(engine: Engine) -> None:
    """While a key is being replaced: with what the pool has found of each, in one upstream."""
    made = Proxy(site([Copy(engine.host, engine.port)]), rotating=True)
    made.following = {"engine": "the-key-that-follows"}
    with made as proxy:
        sent = []
        for following in ([], ["flagship@box0"], []):
            proxy.members(["flagship@box0"], following)
            ask(proxy.port(), CHAT, b"{}")
            sent.append(engine.calls[-1].headers["authorization"])
    assert sent == [f"Bearer {KEY}", "Bearer the-key-that-follows", f"Bearer {KEY}"]


def test_keepalived_is_answered_without_https_and_not_logged(engine: Engine, certificate: tuple[Path, Path]) -> None:
    """It asks each second: any answer of nginx will do, and none of it belongs into the log."""
    tls = {"certificate": "/etc/ssl/floor/chat.pem", "key": "/etc/ssl/floor/chat.key"}
    made = Proxy(site([Copy(engine.host, engine.port)], tls=tls, address="192.0.2.10"))
    text = next(path for path in made.files if path.endswith("tls.conf"))
    for path, place in zip(tls.values(), certificate, strict=True):
        made.files[text] = made.files[text].replace(path, str(place))
    check = made.state.file("/etc/floor/keepalived/nginx-answers")
    assert check is not None
    with made as proxy:
        answers = subprocess.run(["bash"], input=check.text, text=True, check=False)
        trust = ssl.create_default_context(cafile=str(certificate[0]))
        httpx.get(f"{proxy.url}/nothing", verify=trust, trust_env=False)
        proxy.until(lambda: [line for line in proxy.log() if line["status"] == 404], "the line of the log")
        logged = [line for line in proxy.log() if line["status"] == 400]
    gone = subprocess.run(["bash"], input=check.text, text=True, capture_output=True, check=False)
    assert (answers.returncode, logged) == (0, [])
    assert gone.returncode != 0
