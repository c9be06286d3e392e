"""Questions and answers by which a machine learns who has an address, byte by byte."""

from __future__ import annotations

import ipaddress
import struct

import pytest

from floor.box import address
from floor.box.command import Result
from floor.box.neighbours import advertised, replied, request, solicitation
from floor.errors import FloorError

OWN, OTHER = bytes.fromhex("020000000001"), bytes.fromhex("020000000002")
FOUR, SIX = ipaddress.IPv4Address("192.0.2.10"), ipaddress.IPv6Address("fd00::10")


def test_a_question_in_nobodys_name() -> None:
    """RFC 5227: the sender's address is all zeros, so that nobody's table changes by it."""
    frame = request(OWN, FOUR)
    assert frame[:14] == b"\xff" * 6 + OWN + b"\x08\x06"
    assert frame[14:22] == bytes.fromhex("0001080006040001")
    assert frame[22:] == OWN + bytes(4) + bytes(6) + FOUR.packed


def test_whoever_says_that_it_has_the_address() -> None:
    answer = OWN + OTHER + b"\x08\x06" + bytes.fromhex("0001080006040002") + OTHER + FOUR.packed + OWN + bytes(4)
    assert replied(answer, FOUR) == OTHER
    assert replied(answer, ipaddress.IPv4Address("192.0.2.11")) is None
    assert replied(request(OWN, FOUR), FOUR) is None  # who asks for it does not have it
    assert replied(answer[:20], FOUR) is None


def test_the_same_in_ipv6() -> None:
    assert solicitation(OWN, SIX) == b"\x87" + bytes(7) + SIX.packed + b"\x01\x01" + OWN
    head = struct.pack("!BBHI", 136, 0, 0, 0x60000000) + SIX.packed
    assert advertised(head + bytes([2, 1]) + OTHER, SIX) == OTHER
    assert advertised(head + bytes([14, 1]) + bytes(6) + bytes([2, 1]) + OTHER, SIX) == OTHER
    assert advertised(head, SIX) == bytes(6)
    assert advertised(head, ipaddress.IPv6Address("fd00::11")) is None
    assert advertised(b"\x87" + head[1:], SIX) is None
    assert advertised(head + bytes([2, 0]), SIX) == bytes(6)  # an option of no length ends the reading


@pytest.mark.parametrize(
    ("holders", "peers", "strangers"),
    [
        ((), (), []),
        (("a",), ("a",), []),
        (("b",), ("a",), ["b"]),
        (("a", "c"), ("a", "b"), ["c"]),
    ],
)
def test_who_is_no_proxy(holders: tuple[str, ...], peers: tuple[str, ...], strangers: list[str]) -> None:
    asked: list[str] = []

    def ask(_interface: str, ip: str) -> frozenset[str]:
        asked.append(ip)
        return frozenset(holders if ip == "192.0.2.10" else (ip,))

    assert address.strangers("192.0.2.10", "eth0", peers, ask) == strangers
    assert asked == ["192.0.2.10", *(peers if holders else ())]


def _settings(shared: str = "192.0.2.10") -> address.Settings:
    from pathlib import Path

    return address.Settings(shared, "eth0", "192.0.2.11", Path("/k"), (), 60)


def test_what_was_left_behind_is_taken_off() -> None:
    ran: list[list[str]] = []

    def run(argv: list[str], **_more: object) -> Result:
        ran.append(argv[1:])
        return Result(0, "2: eth0    inet 192.0.2.10/32", "")

    assert address.let_go(_settings(), run)  # type: ignore[arg-type]
    assert ran[-1] == ["address", "delete", "192.0.2.10/32", "dev", "eth0"]
    assert not address.let_go(_settings("fd00::10"), lambda *_a, **_k: Result(0, "", ""))


def test_what_stays_is_said() -> None:
    def run(argv: list[str], **_more: object) -> Result:
        return Result(0, "there", "") if "show" in argv else Result(2, "", "Operation not permitted")

    with pytest.raises(FloorError, match=r"^192\.0\.2\.10 stays on eth0: Operation not permitted$"):
        address.let_go(_settings(), run)  # type: ignore[arg-type]
