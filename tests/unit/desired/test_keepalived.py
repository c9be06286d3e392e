"""The address that the proxies share: its place on a box, keepalived's file, the unit around it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from floor.desired.keepalived import PRIORITY, Place, place, router_id
from floor.desired.state import BoxState, Kind, Network
from tests.unit.desired import unitfile
from tests.unit.desired.example import make

CASES = yaml.safe_load((Path(__file__).parents[2] / "cases/address/place.yaml").read_text())
CONF, CHECK = "/etc/floor/keepalived/keepalived.conf", "/etc/floor/keepalived/nginx-answers"
UNIT = "floor-address.service"
BOTH = ("boxes: [spark-a],", "boxes: [spark-a, spark-b], address: 192.0.2.10,")
SIX = ("boxes: [spark-a],", 'boxes: [spark-a, spark-b], address: "fd00::10",')


def _made(*replaced: tuple[str, str], **facts: Any) -> dict[str, BoxState]:
    networks = facts.pop("networks", (Network("enp1s0", "192.0.2.11", 24), Network("enp1s0", "fd00::11", 64)))
    return make(*(replaced or (BOTH,)), networks=networks, **facts)


def _text(state: BoxState, path: str = CONF) -> str:
    file = state.file(path)
    assert file is not None, path
    return file.text


def _settings(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("#")]


@pytest.mark.parametrize("case", CASES, ids=[case["about"] for case in CASES])
def test_the_place_of_the_address(case: dict[str, Any]) -> None:
    networks = [Network(*one) for one in case["networks"]]
    assert place(case["shared"], case["host"], networks) == (Place(*case["place"]) if case["place"] else None)


def test_router_ids_are_legal_and_differ_for_neighbours() -> None:
    near = [router_id(f"192.0.2.{number}") for number in range(255)]
    assert len(set(near)) == 255
    assert (min(near), max(near)) == (1, 255)
    assert router_id("fd00::10") == router_id("FD00:0:0::10")


def test_without_an_address_there_is_nothing_of_it(states: dict[str, BoxState]) -> None:
    for state in states.values():
        assert Kind.ADDRESS not in {unit.kind for unit in state.units}
        assert not [file.path for file in state.files if "keepalived" in file.path or "address" in file.path]
        assert "floor_log_plain" not in "".join(file.text for file in state.files)


def test_both_proxies_begin_alike_and_nobody_takes_it_from_the_other() -> None:
    for number, (name, state) in enumerate(_made().items()):
        said = _settings(_text(state))
        assert f"router_id {name}" in said
        assert {"state BACKUP", "nopreempt", "vrrp_version 3", "advert_int 0.5", "vrrp_check_unicast_src"} <= set(said)
        assert f"priority {PRIORITY - number}" in said
        assert f"virtual_router_id {router_id('192.0.2.10')}" in said
        assert "192.0.2.10/32 dev enp1s0" in said
        assert "interface enp1s0" in said
        assert "unicast_src_ip 192.0.2.11" in said
    assert list(_made()) == ["spark-a", "spark-b"]


def test_peers_are_addresses_in_the_network_of_the_shared_one() -> None:
    """A host that resolved to another network is not where VRRP is spoken."""
    states = _made(addresses={"spark-a": "10.0.0.1", "spark-b": "10.0.0.2", "mac": "192.0.2.20"})
    said = _settings(_text(states["spark-b"]))
    assert said[said.index("unicast_peer {") + 1] == "192.0.2.11"
    asked = json.loads(_text(states["spark-b"], "/etc/floor/address.json"))
    assert asked["peers"] == [
        {"box": "spark-a", "address": "192.0.2.11", "status_url": "http://10.0.0.1:8099/status"},
    ]
    assert (asked["address"], asked["interface"], asked["own"]) == ("192.0.2.10", "enp1s0", "192.0.2.11")


def test_of_an_unknown_box_the_host_is_the_peer() -> None:
    said = _settings(_text(_made(networks=())["spark-a"]))
    assert said[said.index("unicast_peer {") + 1] == "192.0.2.12"
    assert "interface eth0" in said


def test_ipv6() -> None:
    said = _settings(_text(_made(SIX)["spark-a"]))
    assert "fd00::10/128 dev enp1s0" in said
    assert "unicast_src_ip fd00::11" in said


def test_one_proxy_alone_has_no_peer() -> None:
    state = _made(("boxes: [spark-a],", "boxes: [spark-a], address: 192.0.2.10,"))["spark-a"]
    assert "unicast_peer {" not in _settings(_text(state))


def test_nginx_is_asked_and_no_engine() -> None:
    state = _made()["spark-a"]
    check = state.file(CHECK)
    assert check is not None
    assert check.mode == 0o755
    assert "/dev/tcp/127.0.0.1/8080" in check.text
    assert "GET /floor/health HTTP/1.1" in check.text
    said = _settings(_text(state))
    assert f'script "{CHECK}"' in said
    assert {"interval 1", "timeout 1", "fall 2", "rise 2", "script_user www-data", "enable_script_security"} <= set(
        said
    )


def test_the_unit_runs_what_is_planned_and_a_newer_floor_leaves_it() -> None:
    state = _made()["spark-a"]
    unit = next(unit for unit in state.units if unit.kind is Kind.ADDRESS)
    found = unitfile.read(state, UNIT)
    assert found.one("Service", "ExecStart") == " ".join(unit.launch.argv)
    assert unit.reload_on == (CONF,)
    assert "floor-proxy.service" in found.one("Unit", "After").split()
    later = next(unit for unit in _made(release="9")["spark-a"].units if unit.kind is Kind.ADDRESS)
    assert later.launch.digest == unit.launch.digest


def test_the_question_that_needs_no_https_is_not_logged() -> None:
    files = "{certificate: /etc/c, key: /etc/k}"
    tls = ("boxes: [spark-a],", f"boxes: [spark-a, spark-b], address: 192.0.2.10, tls: {files},")
    said = _text(_made(tls)["spark-a"], "/etc/floor/nginx/http/log.conf")
    assert '"400 /floor/plain" $floor_log_plain;' in said
    assert "map $remote_addr $floor_log_plain" in said


def test_nginx_goes_after_the_address_and_asks_for_it_again() -> None:
    found = unitfile.read(_made()["spark-a"], "floor-proxy.service")
    assert found.one("Service", "ExecStop") == "-/opt/floor/current/bin/python -I -m floor.agent.address proxy"
    assert found.one("Service", "ExecStartPost") == f"-/usr/bin/systemctl start --no-block {UNIT}"


def test_a_proxy_of_its_own_address_alone_is_what_it_was(states: dict[str, BoxState]) -> None:
    found = unitfile.read(states["spark-a"], "floor-proxy.service")
    assert not {key for key in found if key[1] in ("ExecStop", "ExecStartPost")}
