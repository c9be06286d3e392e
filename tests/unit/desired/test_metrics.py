"""What floor-metrics is told, and where it runs."""

from __future__ import annotations

import json

from floor.box import paths
from floor.box.document import Document
from floor.config import parse
from floor.desired import routes
from floor.desired.build import build
from floor.desired.state import BoxFacts, BoxState, Kind
from floor.metrics import settings, status_page
from tests.unit.desired import unitfile

FILE = """
boxes:
  a: {host: 192.0.2.1}
  b: {host: 192.0.2.2}
  mac: {host: 192.0.2.20, managed: false}
models:
  big: {source: /m, utilization: 0.1, runtime: {kind: native, command: /x}, replicas: [a, b, mac]}
  words: {source: /w, engine: ollama, port: 8001, listen: 8081, runtime: {kind: native, command: /x}, replicas: [b]}
proxy: {boxes: [a]}
"""
SECTION = "metrics: {listen: 8097, interval: 2s}\n"
FACTS = {"a": BoxFacts("192.0.2.1"), "b": BoxFacts("192.0.2.2"), "mac": BoxFacts("192.0.2.20")}


def built(text: str = FILE + SECTION, mode: str = "replicas") -> dict[str, BoxState]:
    return build(parse(text), mode, FACTS, "release")


def told(box: str, text: str = FILE + SECTION) -> settings.Settings:
    file = built(text)[box].file(str(paths.METRICS_SETTINGS))
    assert file is not None
    return settings.read(Document(json.loads(file.text), file.path), file.path)


def test_a_proxy_box_reads_every_copy() -> None:
    found = told("a")
    assert (found.box, found.listen, found.port, found.interval, found.proxy) == ("a", "192.0.2.1", 8097, 2.0, True)
    assert found.key_file == paths.ENGINE_KEY
    assert [(one.name, one.url, one.box, one.model, one.dialect, one.key) for one in found.backends] == [
        ("big@a", "http://192.0.2.1:8000", "a", "big", "vllm", True),
        ("big@b", "http://192.0.2.2:8000", "b", "big", "vllm", True),
        ("big@mac", "http://192.0.2.20:8000", "mac", "big", "vllm", False),
        ("words@b", "http://192.0.2.2:8001", "b", "words", "ollama", False),
    ]
    assert found.backends[0].servers == ("192.0.2.1:8000",)
    # Reached on the way without a key, which is how nginx tells of it.
    assert found.backends[2].servers[0].startswith("unix:/run/floor/nginx/detour-")


def test_another_box_tells_of_itself_alone() -> None:
    found = told("b")
    assert (found.box, found.proxy, found.backends, found.key_file) == ("b", False, (), None)


def test_without_the_section_nothing_is_different() -> None:
    """Who does not use it gets the bytes of before: nothing runs, and no file is another."""
    plain, with_it = built(FILE), built()
    for box, state in plain.items():
        assert not [unit for unit in state.units if unit.kind is Kind.METRICS]
        others = [file for file in with_it[box].files if "metrics" not in file.path]
        changed = {file.path for file in others if file not in state.files}
        assert changed == {str(paths.FIREWALL), str(paths.AGENT_SETTINGS), f"{paths.UNITS}/floor-agent.service"}


def test_no_engine_is_started_anew_for_it() -> None:
    def engines(states: dict[str, BoxState]) -> dict[tuple[str, str], str]:
        return {
            (box, unit.name): unit.launch.digest
            for box, state in states.items()
            for unit in state.units
            if unit.kind in (Kind.COPY, Kind.POOL, Kind.PROXY)
        }

    assert engines(built(FILE)) == engines(built())


def test_the_unit() -> None:
    unit = unitfile.read(built()["a"], "floor-metrics.service")
    assert unit.one("Service", "ExecStart").endswith("-I -m floor.metrics")
    assert unit.one("Service", "RuntimeDirectory") == str(paths.METRICS_STATE.parent.relative_to(paths.RUN.parent))
    assert unit.one("Service", "RuntimeDirectoryPreserve") == "yes"
    # Nothing depends on it: it is the first to go where memory is short.
    assert int(unit.one("Service", "OOMScoreAdjust")) > 0


def test_a_change_of_the_settings_starts_it_anew() -> None:
    def digest(text: str) -> str:
        return next(unit.launch.digest for unit in built(text)["a"].units if unit.kind is Kind.METRICS)

    assert digest(FILE + SECTION) != digest(FILE + SECTION.replace("2s", "3s"))


PAGE = "metrics: {page: [192.0.2.0/26, 2001:db8::/64]}\n"


def test_a_status_page_without_a_port_for_prometheus() -> None:
    found = told("a", FILE + PAGE)
    assert (found.port, found.page, found.status_key_file) == (None, True, paths.STATUS_KEY)
    assert found.boxes == {"a": "http://192.0.2.1:8099/status", "b": "http://192.0.2.2:8099/status"}
    assert not [unit for unit in built(FILE + PAGE)["b"].units if unit.kind is Kind.METRICS]  # it is no proxy box


def test_nginx_shows_the_page_to_those_who_are_named() -> None:
    state = built(FILE + PAGE)["a"]
    page = state.file(f"{paths.NGINX}/server/page.conf")
    assert page is not None
    for path in ("", "page.css", "page.js", "charts.js", "now.json", "hour.json"):
        block = page.text.partition(f"location = /floor/{path} {{")[2].partition("\n}")[0]
        allowed = [line.strip() for line in block.splitlines() if line.strip().startswith(("allow", "deny"))]
        assert allowed == ["deny all;", "allow 192.0.2.0/26;", "allow 2001:db8::/64;", "deny all;"]
        assert f"proxy_pass http://unix:{paths.METRICS_SOCKET}:/floor/{path};" in block
        assert 'proxy_set_header Authorization "";' in block
    for model in ("big", "words"):
        server = state.file(f"{paths.NGINX}/servers/{model}.conf")
        assert server is not None
        assert server.text.count("include server/page.conf;") == 1


def test_the_socket_is_for_nginx_alone() -> None:
    unit = unitfile.read(built(FILE + PAGE)["a"], "floor-metrics.service")
    assert unit.one("Service", "Group") == "www-data"
    plain = built()["a"].file(f"{paths.UNITS}/floor-metrics.service")
    assert plain is not None
    assert "Group=" not in plain.text


def test_every_path_of_the_page_is_one_that_the_service_has() -> None:
    assert set(routes.PAGE) == set(status_page.PATHS)


def test_the_page_changes_nothing_but_nginx_and_its_own() -> None:
    plain, with_it = built(FILE), built(FILE + PAGE)
    others = [file for file in with_it["a"].files if "metrics" not in file.path]
    changed = {file.path for file in others if file not in plain["a"].files}
    assert changed == {
        str(paths.AGENT_SETTINGS),
        f"{paths.UNITS}/floor-agent.service",
        f"{paths.NGINX}/server/page.conf",
        f"{paths.NGINX}/servers/big.conf",
        f"{paths.NGINX}/servers/words.conf",
    }
    assert with_it["b"] == plain["b"]
