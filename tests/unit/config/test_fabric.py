"""Which link `floor init` takes for the fabric: as GB10 pairs, servers with one card and plain machines show them."""

from __future__ import annotations

from typing import Any

import yaml

from floor.config import parse
from floor.config.fabric import propose
from floor.config.init import Machine
from floor.config.init import propose as first_file


def link(interface: str, *addresses: str, speed: int | None = 10000, devices: str = "", default: bool = False) -> Any:
    told = {"interface": interface, "addresses": list(addresses), "speed": speed, "default": default}
    return {**told, "devices": devices.split()}


def spark(number: int) -> list[Any]:
    """A GB10 as its owners have it: the second port is cabled, which shows as two interfaces and two RDMA devices."""
    return [
        link("enP7s7", f"192.0.2.1{number}/24", default=True),
        link("enp1s0f1np1", f"198.51.100.{number}/24", speed=200000, devices="rocep1s0f1"),
        link("enP2p1s0f1np1", f"203.0.113.{number}/24", speed=200000, devices="roceP2p1s0f1"),
        link("wlP9s9", f"192.0.2.20{number}/24", speed=None),
    ]


def test_a_pair_of_gb10_gets_its_cabled_port_with_both_twins() -> None:
    found = propose({"spark-a": spark(1), "spark-b": spark(2)})
    assert found == {
        "spark-a": {"interface": "enp1s0f1np1", "address": "198.51.100.1", "hca": ["rocep1s0f1", "roceP2p1s0f1"]},
        "spark-b": {"interface": "enp1s0f1np1", "address": "198.51.100.2", "hca": ["rocep1s0f1", "roceP2p1s0f1"]},
    }


def test_one_gb10_alone_gets_it_too() -> None:
    assert propose({"spark-a": spark(1)})["spark-a"]["address"] == "198.51.100.1"


def test_a_twin_without_an_address_is_used_all_the_same() -> None:
    links = spark(1)
    links[2]["addresses"] = []
    assert propose({"spark-a": links})["spark-a"]["hca"] == ["rocep1s0f1", "roceP2p1s0f1"]


def test_interfaces_may_have_other_names_on_each_box() -> None:
    """Cabled crosswise: the first port of one to the second of the other."""
    other = [
        link("eno1", "192.0.2.12/24", default=True),
        link("enp1s0f0np0", "198.51.100.2/24", speed=200000, devices="mlx5_0"),
    ]
    found = propose({"spark-a": spark(1), "box": other})
    assert found["box"] == {"interface": "enp1s0f0np0", "address": "198.51.100.2", "hca": ["mlx5_0"]}
    assert found["spark-a"]["interface"] == "enp1s0f1np1"


def test_a_faster_network_without_rdma_is_one_where_boxes_share_it() -> None:
    def server(number: int) -> list[Any]:
        usual = link("eno1", f"192.0.2.{number}/24", speed=1000, default=True)
        return [usual, link("eno2", f"198.51.100.{number}/24", speed=10000)]

    assert propose({"a": server(1), "b": server(2)})["a"] == {"interface": "eno2", "address": "198.51.100.1"}
    assert propose({"a": server(1)}) == {}


def test_what_is_no_fabric() -> None:
    alone = [link("eno1", "192.0.2.1/24", devices="mlx5_0", default=True)]
    slower = [link("eno1", "192.0.2.1/24", default=True), link("eno2", "198.51.100.1/24", speed=1000)]
    apart = [link("eno1", "192.0.2.1/24", default=True), link("e", "198.51.101.1/24", devices="mlx5_0")]
    for links in (alone, slower):
        assert propose({"a": links}) == {}
        assert propose({"a": links, "b": links}) == {}
    assert propose({"a": apart, "b": spark(2)}) == {}
    assert propose({}) == {}
    assert propose({"a": []}) == {}


def test_a_third_box_that_is_not_on_it_has_none() -> None:
    found = propose({"spark-a": spark(1), "spark-b": spark(2), "mac": [link("en0", "192.0.2.20/24", default=True)]})
    assert set(found) == {"spark-a", "spark-b"}


def test_the_first_file_holds_it() -> None:
    text = first_file(Machine("spark-a", addresses=("192.0.2.11",), links=tuple(spark(1))))
    assert "#   RDMA devices: rocep1s0f1, roceP2p1s0f1\n" in text
    [box] = parse(text).boxes.values()
    assert box.fabric is not None
    assert box.fabric.model_dump() == yaml.safe_load(
        "{interface: enp1s0f1np1, address: 198.51.100.1, hca: [rocep1s0f1, roceP2p1s0f1]}"
    )
