"""The kernel's own word on the rules: they load, load again, are known for the same, and a hand in them shows.

In a network of its own, so no rule of this machine is touched.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from floor.box import paths
from floor.config import parse
from floor.desired import firewall
from floor.desired.state import BoxFacts

FILE = """
boxes:
  a: {host: 192.0.2.1, fabric: {interface: e, address: "fd05::1"}}
  b: {host: "fd00::2", fabric: {interface: e, address: "fd05::2"}}
models:
  big:
    source: /m
    utilization: 0.1
    runtime: {kind: native, command: /x}
    replicas: [a, b]
    split: {boxes: [a, b], tensor_parallel: 2}
proxy: {boxes: [a, b], allow: [203.0.113.0/24, 203.0.113.9, 203.0.112.0/24, "fd01::/64"], direct: warn}
"""
LOOK = """
import json, subprocess, sys
from pathlib import Path
from floor.box import firewall, paths
root, steps = Path(sys.argv[1]), json.loads(sys.argv[2])
for step in steps:
    subprocess.run(["nft", *step], check=True)
found = firewall.look(root)
print(json.dumps({**found, "others": firewall.others()}))
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with the rules of a box where a box has them."""
    facts = {"a": BoxFacts("192.0.2.1"), "b": BoxFacts("fd00::2")}
    place = paths.under(tmp_path, paths.FIREWALL)
    place.parent.mkdir(parents=True)
    place.write_text(firewall.rules(parse(FILE), "a", facts).text)
    return tmp_path


def look(root: Path, *steps: list[str]) -> dict[str, Any]:
    """What is seen in a network of its own after `nft` with each of `steps`."""
    argv = ["unshare", "--map-root-user", "--net", sys.executable, "-c", LOOK, str(root), json.dumps(steps)]
    done = subprocess.run(argv, text=True, capture_output=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def load(root: Path) -> list[str]:
    return ["-f", str(paths.under(root, paths.FIREWALL))]


def test_what_was_loaded_twice_is_the_same_as_the_file(root: Path) -> None:
    assert look(root, load(root), load(root)) == {
        "installed": True,
        "loaded": True,
        "same": True,
        "direct": [],
        "others": [],
    }


def test_what_was_counted_is_told_and_changes_nothing(root: Path) -> None:
    came = "{ 203.0.113.77 counter packets 3 bytes 180, 203.0.113.78 counter packets 4 bytes 240 }"
    six = "{ fd09::7 counter packets 1 bytes 60 }"
    found = look(
        root,
        load(root),
        ["add", "element", "inet", "floor", "direct4", came],
        ["add", "element", "inet", "floor", "direct6", six],
    )
    assert found["same"] is True
    assert [(one["address"], one["connections"]) for one in found["direct"]] == [
        ("203.0.113.78", 4),
        ("203.0.113.77", 3),
        ("fd09::7", 1),
    ]


@pytest.mark.parametrize(
    "step",
    [
        ["insert", "rule", "inet", "floor", "engines", "ip", "saddr", "203.0.111.1", "accept"],
        ["flush", "chain", "inet", "floor", "engines"],
        ["chain", "inet", "floor", "input", "{ policy drop; }"],
    ],
    ids=["a rule more", "rules less", "another policy"],
)
def test_a_hand_in_the_rules_shows(root: Path, step: list[str]) -> None:
    found = look(root, load(root), step)
    assert (found["loaded"], found["same"]) == (True, False)


def test_a_table_that_was_taken_away_shows_and_loading_touches_no_other(root: Path) -> None:
    mine = ["add", "table", "ip", "mine"]
    chain = ["add", "chain", "ip", "mine", "in", "{ type filter hook input priority 0; policy drop; }"]
    rule = ["add", "rule", "ip", "mine", "in", "tcp", "dport", "{ 22, 8080 }", "accept"]
    found = look(root, mine, chain, rule, load(root), list(firewall.UNLOAD[1:]))
    assert (found["loaded"], found["same"]) == (False, None)
    assert found["others"] == [{"family": "ip", "table": "mine", "chain": "in", "by": "", "ports": [22, 8080]}]
