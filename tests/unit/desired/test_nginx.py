"""O01 to O14 as far as text shows them; what nginx does with it is in the integration tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floor.desired import nginx
from floor.desired.state import BoxState
from tests.unit.desired import unitfile
from tests.unit.desired.example import FABRIC, make

FOLDER = "/etc/floor/nginx/"


def _text(state: BoxState, name: str) -> str:
    file = state.file(FOLDER + name)
    assert file is not None, name
    return file.text


def _files(state: BoxState) -> dict[str, str]:
    return {file.path.removeprefix(FOLDER): file.text for file in state.files if file.path.startswith(FOLDER)}


def _value(text: str, directive: str) -> str:
    (value,) = re.findall(rf"^\s*{directive} (.+);$", text, re.MULTILINE)
    return str(value)


def test_descriptors_are_enough_and_the_unit_agrees(states: dict[str, BoxState]) -> None:
    """O11. Two for each connection; and no box in a container may have more than 20,000."""
    state = states["spark-a"]
    descriptors = int(_value(_text(state, "process.conf"), "worker_rlimit_nofile"))
    connections = int(_value(_text(state, "events.conf"), "worker_connections"))
    assert 2 * connections <= descriptors <= 20000
    unit = unitfile.read(state, "floor-proxy.service")
    assert int(unit.one("Service", "LimitNOFILE")) == descriptors
    assert connections >= 4 * 600


def test_the_main_file_only_includes(states: dict[str, BoxState]) -> None:
    lines = [line.strip() for line in _text(states["spark-a"], "nginx.conf").splitlines()]
    assert {line for line in lines if line and not line.startswith(("#", "include "))} == {"events {", "http {", "}"}


def test_every_include_is_there(states: dict[str, BoxState]) -> None:
    """By paths within the tree, so that a copy of it can be tested; what others write has its own place."""
    files = _files(states["spark-a"])
    found = {name for text in files.values() for name in re.findall(r"^\s*include (\S+);", text, re.MULTILINE)}
    elsewhere = {name for name in found if name.startswith("/")}
    assert elsewhere == {"/run/floor/nginx/members.conf", "/etc/floor/secrets/engine-key.conf"}
    for name in found - elsewhere:
        assert any(Path(path).match(name) for path in files), name


def test_every_directive_says_why(states: dict[str, BoxState]) -> None:
    """A comment, or a line right under another directive that has one."""
    for name, text in _files(states["spark-a"]).items():
        if name.startswith(("servers/", "server/", "nginx.conf")):
            continue
        before = ""
        for line in text.splitlines():
            assert not re.match(r"[a-z]", line) or before, f"{name}: {line}"
            before = line.strip()


@pytest.mark.parametrize("ipv6", [True, False])
def test_ipv6_is_listened_on_where_the_box_has_it(ipv6: bool) -> None:
    """O08. `listen [::]` keeps nginx from starting elsewhere."""
    text = _text(make(ipv6=ipv6)["spark-a"], "servers/flagship.conf")
    listens = re.findall(r"^\s*listen (\S+) ", text, re.MULTILINE)
    assert listens == ["8080", "[::]:8080"] if ipv6 else ["8080"]


def test_nginx_runs_as_the_boxs_own_user() -> None:
    """`user nobody` fails on Debian, which has no such group."""
    assert _value(_text(make(nginx_user="nginx")["spark-a"], "process.conf"), "user") == "nginx"


def test_numbers_of_the_file_arrive() -> None:
    state = make(("listen: 8080}", "listen: 8080, max_body: 3MiB, connect_timeout: 500ms}"))["spark-a"]
    assert _value(_text(state, "http/requests.conf"), "client_max_body_size") == str(3 * 2**20)
    assert "larger than 3 MiB" in _text(state, "server/errors.conf")
    upstream = _text(state, "http/upstream.conf")
    assert (_value(upstream, "proxy_connect_timeout"), _value(upstream, "proxy_next_upstream_timeout")) == (
        "500ms",
        "1500ms",
    )
    assert _value(upstream, "proxy_next_upstream") == "error timeout"
    assert _value(_text(state, "servers/small.embed.conf"), "proxy_read_timeout") == "60s"
    assert _value(_text(state, "process.conf"), "worker_shutdown_timeout") == "1810s"


def test_nothing_is_passed_on_after_a_read_timeout() -> None:
    """O04. Whatever the two are: a request that timed out is older than the time for passing on."""
    state = make(("request_time: 60", "request_time: 4"))["spark-a"]
    assert _value(_text(state, "http/upstream.conf"), "proxy_next_upstream_timeout") == "4s"


def test_one_port_a_model_and_one_file_a_port(states: dict[str, BoxState]) -> None:
    servers = sorted(name for name in _files(states["spark-a"]) if name.startswith("servers/"))
    assert servers == ["servers/flagship.conf", "servers/small.embed.conf"]
    text = _text(states["spark-a"], "servers/small.embed.conf")
    assert "listen 8081 " in text
    assert set(re.findall(r"http://(floor_\w+)/", text)) == {"floor_small_embed"}


def test_servers_hold_no_member(states: dict[str, BoxState]) -> None:
    """Members are floor-pool's; a change of them must not touch these files."""
    for name, text in _files(states["spark-a"]).items():
        assert "192.0.2.11" not in text, name
        assert "192.0.2.12" not in text, name


def test_the_weight_of_a_copy_changes_no_nginx_file() -> None:
    assert _files(make()["spark-a"]) == _files(make(("weight: 3", "weight: 1"))["spark-a"])


@given(st.floats(0.001, 7 * 24 * 3600))
def test_durations_are_never_shorter_than_meant(seconds: float) -> None:
    text = nginx.duration(seconds)
    number, unit = re.fullmatch(r"(\d+)(ms|s)", text).groups()  # type: ignore[union-attr]
    meant = int(number) * (1.0 if unit == "s" else 0.001)
    assert seconds - 1e-9 <= meant <= seconds + 0.0011


def test_a_model_that_is_only_split_has_its_port_too() -> None:
    """In the other mode it says there that nobody is there."""
    text = "    replicas: [spark-b]\nproxy"
    state = make(
        (text, "    split: {boxes: [spark-a, spark-b], tensor_parallel: 2, utilization: 0.05}\nproxy"), *FABRIC
    )["spark-a"]
    servers = [name for name in _files(state) if name.startswith("servers/")]
    assert servers == ["servers/flagship.conf", "servers/small.embed.conf"]
