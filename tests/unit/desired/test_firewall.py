"""Who may begin connections to what, as the text of the rules, and what happens to others."""

from __future__ import annotations

import re
from typing import Any

import pytest

from floor.config import parse
from floor.desired import firewall
from floor.desired.firewall import Extra
from floor.desired.state import BoxFacts

FILE = """
boxes:
  a: {host: 192.0.2.1}
  b: {host: "fd00::2", status_port: 9000}
  c: {host: 192.0.2.3}
  mac: {host: 192.0.2.20, managed: false}
models:
  big: {source: /m, utilization: 0.1, runtime: {kind: native, command: /x}, replicas: [a, {box: c, port: 8100}, mac]}
  small: {source: /s, port: 8001, listen: 8081, utilization: 0.1, runtime: {kind: native, command: /x}, replicas: [a]}
proxy: {boxes: [a, b]}
"""
HOSTS = {"a": "192.0.2.1", "b": "fd00::2", "c": "192.0.2.3", "mac": "192.0.2.20"}


def rules(box: str, *replaced: tuple[str, str], extra: Extra = firewall.NOTHING, **facts: Any) -> str:
    """The rules of a box of FILE with some of its text replaced; `facts` are boxes that are known otherwise."""
    text = FILE
    for old, new in replaced:
        assert old in text
        text = text.replace(old, new)
    known = {name: BoxFacts(address) for name, address in HOSTS.items()} | facts
    return firewall.rules(parse(text), box, known, extra).text


def chain(text: str, name: str) -> list[str]:
    """The rules of one chain, without comments."""
    body = text.partition(f"chain {name} {{\n")[2].partition("\n    }")[0]
    return [line.strip() for line in body.splitlines() if not line.strip().startswith("#")]


def test_engines_are_for_the_proxies_and_the_status_port_for_the_boxes() -> None:
    text = rules("a")
    assert "tcp dport { 8000, 8001 } jump engines" in chain(text, "input")
    assert "tcp dport 8099 jump status" in chain(text, "input")
    assert chain(text, "engines")[:2] == ["ip saddr { 192.0.2.1 } accept", "ip6 saddr { fd00::2 } accept"]
    assert chain(text, "status") == [
        "ip saddr { 192.0.2.1, 192.0.2.3 } accept",
        "ip6 saddr { fd00::2 } accept",
        "counter drop",
    ]


def test_a_box_itself_and_what_is_under_way_are_let_in_first() -> None:
    assert chain(rules("a"), "input")[:4] == [
        "type filter hook input priority filter; policy accept;",
        "meta l4proto != tcp accept",
        'iif "lo" accept',
        "tcp flags & (fin | syn | rst | ack) != syn accept",
    ]


def test_the_ports_are_those_of_the_box() -> None:
    assert "tcp dport { 8100 } jump engines" in chain(rules("c"), "input")
    assert "tcp dport 9000 jump status" in chain(rules("b"), "input")
    assert "engines" not in rules("b").replace("the engines of", "")  # no copy is there


def test_whoever_goes_past_the_proxy_is_counted_told_and_kept_off() -> None:
    assert chain(rules("a"), "engines")[2:] == [
        "update @direct4 { ip saddr counter }",
        "update @direct6 { ip6 saddr counter }",
        'limit rate 6/minute burst 5 packets log prefix "floor: past the proxy: "',
        "counter drop",
    ]
    warned = chain(rules("a", ("boxes: [a, b]", "boxes: [a, b], direct: warn")), "engines")
    assert warned == [*chain(rules("a"), "engines")[:-1], "counter accept"]


def test_others_are_allowed_by_network_none_within_another() -> None:
    """nft refuses a set whose parts overlap."""
    allow = "boxes: [a, b], allow: [10.1.0.0/16, 10.1.2.0/24, 10.1.2.3, 203.0.113.7, 'fd01::/64', 10.0.0.0/16]"
    found = chain(rules("a", ("boxes: [a, b]", allow)), "engines")[2:4]
    assert found == ["ip saddr { 10.0.0.0/16, 10.1.0.0/16, 203.0.113.7 } accept", "ip6 saddr { fd01::/64 } accept"]
    assert "10.0" not in " ".join(chain(rules("a", ("boxes: [a, b]", allow)), "status"))


def test_a_box_without_an_address_is_let_in_nowhere_and_a_sender_under_both_of_its_own() -> None:
    assert "192.0.2.1" not in rules("c", a=BoxFacts(None))
    two = chain(rules("c", a=BoxFacts("192.0.2.1", sources={"192.0.2.3": "10.9.0.1", "fd00::2": "fd09::1"})), "engines")
    assert two[0] == "ip saddr { 10.9.0.1, 192.0.2.1 } accept"


def test_what_is_to_go_is_let_in_and_guarded_until_then() -> None:
    text = rules("c", extra=Extra(frozenset({"c"}), frozenset({8000})))
    assert "tcp dport { 8000, 8100 } jump engines" in chain(text, "input")
    assert chain(text, "engines")[0] == "ip saddr { 192.0.2.1, 192.0.2.3 } accept"


SPLIT = ("proxy:", "  wide: {source: /w, listen: 8082, port: 8002, split: {boxes: [a, c], tensor_parallel: 2}}\nproxy:")


@pytest.mark.parametrize(
    ("fabric_a", "fabric_c", "expected"),
    [
        (
            "198.51.100.1",
            "198.51.100.3",
            ["tcp dport 29501 jump ranks_1", "ip daddr 198.51.100.1 tcp dport 32768-60999 jump ranks_1"],
        ),
        ("192.0.2.1", "192.0.2.3", ["tcp dport 29501 jump ranks_1"]),
        (
            "fd05::1",
            "fd05::3",
            ["tcp dport 29501 jump ranks_1", "ip6 daddr fd05::1 tcp dport 32768-60999 jump ranks_1"],
        ),
    ],
    ids=["of its own", "the network of all else", "IPv6"],
)
def test_ranks_are_for_the_boxes_of_their_model(fabric_a: str, fabric_c: str, expected: list[str]) -> None:
    """The kernel's own ports are closed on a fabric of its own only: elsewhere other programs have some, too."""
    runtime = "runtime: {kind: native, command: /x}, utilization: 0.1, split"
    text = rules(
        "a",
        (SPLIT[0], SPLIT[1].replace("split", runtime, 1)),
        ("a: {host: 192.0.2.1}", f'a: {{host: 192.0.2.1, fabric: {{interface: e, address: "{fabric_a}"}}}}'),
        ("c: {host: 192.0.2.3}", f'c: {{host: 192.0.2.3, fabric: {{interface: e, address: "{fabric_c}"}}}}'),
    )
    assert [line for line in chain(text, "input") if "ranks" in line] == expected
    admitted = " ".join(re.findall(r"saddr \{ ([^}]*) \}", "\n".join(chain(text, "ranks_1")))).replace(",", "").split()
    assert set(admitted) == {fabric_a, fabric_c}
    assert chain(text, "ranks_1")[-1] == "counter drop"


def test_the_unit_outlives_whoever_empties_the_rule_set_and_restarts_no_engine() -> None:
    unit, (file,) = firewall.unit()
    assert (unit.name, unit.launch.argv, unit.reload_on) == ("floor-firewall.service", (), ("/etc/floor/firewall.nft",))
    for line in (
        "After=nftables.service",
        "PartOf=nftables.service",
        "ReloadPropagatedFrom=nftables.service",
        "RemainAfterExit=yes",
        "ExecStart=/usr/sbin/nft -f /etc/floor/firewall.nft",
        "ExecReload=/usr/sbin/nft -f /etc/floor/firewall.nft",
        "ExecStop=-/usr/sbin/nft delete table inet floor",
    ):
        assert f"\n{line}\n" in file.text
    assert "Requires" not in file.text


METRICS = ("proxy: {boxes: [a, b]}", "proxy: {boxes: [a, b]}\nmetrics: {listen: 8097, allow: [198.51.100.7]}")


def test_metrics_are_for_the_boxes_and_those_that_are_named() -> None:
    text = rules("c", METRICS)
    assert "tcp dport 8097 jump metrics" in text
    assert chain(text, "metrics") == [
        "ip saddr { 192.0.2.1, 192.0.2.3, 198.51.100.7 } accept",
        "ip6 saddr { fd00::2 } accept",
        "counter drop",
    ]


def test_without_metrics_nothing_is_opened_for_them() -> None:
    assert "metrics" not in rules("c")
