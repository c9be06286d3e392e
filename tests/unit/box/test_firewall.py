"""What nft lists, read: who was counted, whose rules are whose, and what is the same although it was counted on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from floor.box import firewall, paths

from .conftest import Programs

TABLE: list[dict[str, Any]] = [
    {"metainfo": {"version": "1.0.6"}},
    {"table": {"family": "inet", "name": "floor", "handle": 3}},
    {
        "set": {
            "name": "direct4",
            "handle": 4,
            "elem": [
                {"elem": {"val": "192.0.2.7", "expires": 9, "counter": {"packets": 2, "bytes": 120}}},
                {"elem": {"val": "192.0.2.9", "expires": 9, "counter": {"packets": 5, "bytes": 300}}},
            ],
        }
    },
    {"rule": {"chain": "status", "handle": 9, "expr": [{"counter": {"packets": 1, "bytes": 60}}, {"drop": None}]}},
]


def listing(items: list[dict[str, Any]]) -> str:
    return json.dumps({"nftables": items})


def edited(old: str, new: str) -> list[dict[str, Any]]:
    text = json.dumps(TABLE)
    assert old in text
    return list(json.loads(text.replace(old, new)))


def place(root: Path) -> None:
    file = paths.under(root, paths.FIREWALL)
    file.parent.mkdir(parents=True)
    file.write_text("table inet floor {}\n")


def test_a_box_without_nftables(programs: Programs, root: Path) -> None:
    assert firewall.look(root, programs) == {"installed": False, "loaded": False, "same": None, "direct": []}
    assert firewall.others(programs) == []


def test_a_box_whose_table_is_not_loaded(programs: Programs, root: Path) -> None:
    place(root)
    programs.on("nft", err="Error: No such file or directory", code=1)
    assert firewall.look(root, programs) == {"installed": True, "loaded": False, "same": None, "direct": []}


@pytest.mark.parametrize(
    ("fresh", "same"),
    [
        (TABLE, True),
        (edited('"packets": 1', '"packets": 0'), True),
        (edited('"handle": 9', '"handle": 12'), True),
        (edited('"192.0.2.9"', '"192.0.2.8"'), True),  # counted, not ruled
        (edited('"drop"', '"accept"'), False),
        (TABLE[:-1], False),
    ],
)
def test_what_was_loaded_is_compared_with_the_file(
    programs: Programs, root: Path, fresh: list[dict[str, Any]], same: bool
) -> None:
    place(root)
    programs.on("unshare", out=listing(fresh))
    programs.on("nft", out=listing(TABLE))
    found = firewall.look(root, programs)
    assert (found["loaded"], found["same"]) == (True, same)
    assert found["direct"] == [
        {"address": "192.0.2.9", "connections": 5},
        {"address": "192.0.2.7", "connections": 2},
    ]


def test_where_no_second_network_can_be_had_nobody_knows(programs: Programs, root: Path) -> None:
    place(root)
    programs.on("unshare", err="unshare failed: Operation not permitted", code=1)
    programs.on("nft", out=listing(TABLE))
    assert firewall.look(root, programs)["same"] is None


def _chain(table: str, name: str, **more: object) -> dict[str, Any]:
    return {"chain": {"family": "ip", "table": table, "name": name, **more}}


def _rule(table: str, right: object) -> dict[str, Any]:
    left = {"payload": {"protocol": "tcp", "field": "dport"}}
    return {
        "rule": {"family": "ip", "table": table, "expr": [{"match": {"left": left, "right": right}}, {"accept": None}]}
    }


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([_chain("filter", "INPUT", hook="input", policy="accept")], []),
        ([_chain("filter", "FORWARD", hook="forward", policy="drop")], []),
        (
            [
                _chain("filter", "INPUT", hook="input", policy="drop"),
                _chain("filter", "ufw-user-input"),
                _rule("filter", 22),
                _rule("filter", {"set": [8080, 8081]}),
                _rule("filter", {"range": [9000, 9010]}),
                _rule("other", 1),
            ],
            [{"table": "filter", "chain": "INPUT", "by": "ufw", "ports": [22, 8080, 8081, 9000, 9010]}],
        ),
        (
            [_chain("firewalld", "filter_INPUT", hook="input", policy="accept")],
            [{"table": "firewalld", "chain": "filter_INPUT", "by": "firewalld", "ports": []}],
        ),
        (
            [_chain("mine", "in", hook="input", policy="drop")],
            [{"table": "mine", "chain": "in", "by": "", "ports": []}],
        ),
    ],
    ids=["accepts", "forwards", "ufw", "firewalld", "somebody's"],
)
def test_others_that_drop(programs: Programs, items: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    programs.on("nft", out=listing(items))
    assert firewall.others(programs) == [{"family": "ip", **one} for one in expected]


def test_the_own_address_on_the_way_to_another() -> None:
    assert firewall.sources(["127.0.0.2", "not an address"]) == {"127.0.0.2": "127.0.0.1"}
