"""The shared address from box to box: who sends on for whom, what the kernel is told, and what is undone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from floor.box import address, handover, paths
from floor.box.command import Result
from floor.errors import FloorError

CARD = "2: eth0@if3: <UP> mtu 1500 state UP \\    link/ether 02:00:00:00:00:0b brd ff:ff:ff:ff:ff:ff\n"
A, B = "02:00:00:00:00:0a", "02:00:00:00:00:0b"


def _settings(shared: str = "192.0.2.10") -> address.Settings:
    return address.Settings(shared, "eth0", "192.0.2.11", Path("/k"), (), 60)


class Kernel:
    """Takes rules and commands, and keeps them."""

    def __init__(self, refuses: str = "") -> None:
        self.rules: list[str] = []
        self.ran: list[str] = []
        self.refuses = refuses

    def load(self, rules: str) -> Result:
        self.rules.append(rules)
        return Result(1, "", "no netdev") if self.refuses == "nft" else Result(0, "", "")

    def run(self, argv: Sequence[str]) -> Result:
        said = " ".join(argv[1:])
        self.ran.append(said)
        if said == "-o link show dev eth0":
            return Result(0, CARD, "")
        refused = self.refuses and said.startswith(self.refuses)
        return Result(2, "", "not permitted") if refused else Result(0, "", "")


@pytest.mark.parametrize(
    ("statuses", "leaving", "found"),
    [
        ([], False, None),
        ([None, {}, {"leaves": None}], False, None),
        ([None, {"leaves": A}], False, A),
        ([{"leaves": A}], True, None),  # packets would go round in a circle
        ([{"leaves": A}, {"leaves": B}], False, None),
        ([{"leaves": "02; flush ruleset"}, {"leaves": 7}], False, None),
    ],
)
def test_for_whom_a_box_sends_on(statuses: list[Any], leaving: bool, found: str | None) -> None:
    assert handover.leaver(statuses, leaving=leaving) == found


@pytest.mark.parametrize(("shared", "word", "kind"), [("192.0.2.10", "ip", "ipv4"), ("fd00::10", "ip6", "ipv6")])
def test_what_begins_here_stays_here(shared: str, word: str, kind: str) -> None:
    kernel = Kernel()
    handover.catch(_settings(shared), A, kernel.run, kernel.load)
    (rules,) = kernel.rules
    lines = [line.strip() for line in rules.splitlines()]
    assert f"type {kind}_addr . inet_service" in lines
    chain = [line for line in lines[lines.index("chain ingress {") + 2 :] if not line.startswith("#")]
    assert chain[:6] == [
        f"meta protocol != {word} accept",
        f"{word} daddr != {shared} accept",
        "meta l4proto != tcp accept",
        f"tcp flags & (fin | syn | rst | ack) == syn update @begun {{ {word} saddr . tcp sport }}",
        "tcp flags & (fin | syn | rst | ack) == syn accept",
        f"{word} saddr . tcp sport @begun accept",
    ]
    assert chain[6] == f'ether saddr set {B} ether daddr set {A} fwd to "eth0"'
    assert "timeout 120s" in lines


def test_rules_that_the_kernel_does_not_take() -> None:
    kernel = Kernel("nft")
    with pytest.raises(FloorError, match=r"^nft refuses the rules for a handover: no netdev$"):
        handover.catch(_settings(), A, kernel.run, kernel.load)


def test_an_address_that_is_kept_is_silent() -> None:
    kernel = Kernel()
    handover.keep(_settings(), kernel.run, kernel.load)
    assert "arp daddr ip 192.0.2.10 drop" in kernel.rules[0]
    assert "arp saddr ip 192.0.2.10 arp saddr ip set 192.0.2.11" in kernel.rules[0]
    assert kernel.ran == ["address replace 192.0.2.10/32 dev lo"]
    handover.end_keep(_settings(), kernel.run)
    assert kernel.ran[1:] == ["address delete 192.0.2.10/32 dev lo", "delete table arp floor_address"]


def test_ipv6_is_silent_by_itself() -> None:
    kernel = Kernel()
    handover.keep(_settings("fd00::10"), kernel.run, kernel.load)
    assert (kernel.rules, kernel.ran) == ([], ["address replace fd00::10/128 dev lo"])


def test_an_address_that_cannot_be_kept_leaves_nothing() -> None:
    kernel = Kernel("address replace")
    with pytest.raises(FloorError, match=r"^192\.0\.2\.10 cannot be kept: not permitted$"):
        handover.keep(_settings(), kernel.run, kernel.load)
    assert kernel.ran[-1] == "delete table arp floor_address"


def test_marks_come_and_go(root: Path) -> None:
    assert handover.told(root) == {"leaves": None, "catches": None}
    place = root / str(paths.ADDRESS_LEAVES).lstrip("/")
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps({"mac": A}))
    assert handover.told(root) == {"leaves": A, "catches": None}
    place.write_text("[")
    assert handover.told(root)["leaves"] is None
    handover.mark(paths.ADDRESS_LEAVES, None, root)
    handover.mark(paths.ADDRESS_LEAVES, None, root)
    assert not place.exists()


def test_a_card_without_an_address() -> None:
    with pytest.raises(FloorError, match=r"^wg0: has no hardware address by which another box could reach it$"):
        handover.hardware("wg0", lambda _argv: Result(0, "7: wg0: <UP> mtu 1420 \\    link/none \n", ""))
    with pytest.raises(FloorError, match=r"^eth9: there is no such interface: Device does not exist$"):
        handover.hardware("eth9", lambda _argv: Result(1, "", "Device does not exist"))
