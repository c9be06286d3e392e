"""Who answers for an address in the network: asked by ARP, or for IPv6 by neighbour discovery. Needs CAP_NET_RAW.

The questions are those by which a machine finds out that an address is taken (RFC 5227, RFC 4861): nobody learns
anything wrong from them.
"""

from __future__ import annotations

import fcntl
import ipaddress
import select
import socket
import struct
import time
from collections.abc import Callable

from floor.errors import FloorError

WAIT = 1.0  # seconds for answers, with three questions in them; in a network they take a millisecond
QUESTIONS = 3
_ARP, _ETHERNET = 0x0806, 1
_REQUEST = struct.Struct("!HHBBH6s4s6s4s")
_GET_HARDWARE = 0x8927  # SIOCGIFHWADDR
_SOLICITATION, _ADVERTISEMENT = 135, 136
_SOURCE_ADDRESS, _TARGET_ADDRESS = 1, 2  # the options of those two that hold the sender's hardware address

Ask = Callable[[str, str], frozenset[str]]


def who_has(interface: str, address: str, seconds: float = WAIT) -> frozenset[str]:
    """Given an interface of this box and an IP literal, return the hardware addresses of who answers for it; this box
    itself is not among them. An interface without such addresses has no neighbours to ask.

    Raise FloorError where that cannot be asked."""
    ip = ipaddress.ip_address(address)
    try:
        if isinstance(ip, ipaddress.IPv4Address):
            return _arp(interface, ip, seconds)
        return _discovery(interface, ip, seconds)
    except OSError as error:
        raise FloorError(f"{interface}: cannot ask who has {address}: {error.strerror or error}") from error


def _arp(interface: str, ip: ipaddress.IPv4Address, seconds: float) -> frozenset[str]:
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ARP)) as way:
        way.bind((interface, _ARP))
        name = way.getsockname()
        own = bytes(name[4])
        if name[3] != _ETHERNET or len(own) != 6:
            return frozenset()
        question = request(own, ip)
        return _collect(way, seconds, lambda: way.send(question), lambda data: replied(data, ip), own)


def request(own: bytes, ip: ipaddress.IPv4Address) -> bytes:
    """Given this box's hardware address, return the frame that asks all others who has `ip`, in nobody's name."""
    body = _REQUEST.pack(_ETHERNET, 0x0800, 6, 4, 1, own, bytes(4), bytes(6), ip.packed)
    return b"\xff" * 6 + own + struct.pack("!H", _ARP) + body


def replied(frame: bytes, ip: ipaddress.IPv4Address) -> bytes | None:
    """Given a frame of ARP, return the hardware address of who says in it that `ip` is its own; None for no such."""
    if len(frame) < 14 + _REQUEST.size:
        return None
    *_, sender, owned, _target, _asked = _REQUEST.unpack_from(frame, 14)
    return bytes(sender) if owned == ip.packed else None


def _discovery(interface: str, ip: ipaddress.IPv6Address, seconds: float) -> frozenset[str]:
    with socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6) as way:
        way.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.encode() + b"\0")
        way.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
        group = ipaddress.IPv6Address(int(ipaddress.IPv6Address("ff02::1:ff00:0")) | int(ip) & 0xFFFFFF)
        where = (str(group), 0, 0, socket.if_nametoindex(interface))
        own = _own(way, interface)
        question = solicitation(own, ip)
        return _collect(way, seconds, lambda: way.sendto(question, where), lambda data: advertised(data, ip), own)


def _own(way: socket.socket, interface: str) -> bytes:
    """The hardware address of an interface (netdevice(7), SIOCGIFHWADDR)."""
    found = fcntl.ioctl(way.fileno(), _GET_HARDWARE, struct.pack("256s", interface.encode()[:15]))
    return found[18:24]


def solicitation(own: bytes, ip: ipaddress.IPv6Address) -> bytes:
    """Given this box's hardware address, return the message that asks who has `ip`; the kernel puts the checksum in.

    Without the sender's hardware address Linux answers nobody whom it does not know already."""
    return struct.pack("!BBHI", _SOLICITATION, 0, 0, 0) + ip.packed + bytes([_SOURCE_ADDRESS, 1]) + own


def advertised(message: bytes, ip: ipaddress.IPv6Address) -> bytes | None:
    """Given a message of ICMPv6, return the hardware address of who says in it that `ip` is its own; None for no such.

    Who does not tell one is returned as six zeros."""
    if len(message) < 24 or message[0] != _ADVERTISEMENT or message[8:24] != ip.packed:
        return None
    options = message[24:]
    while len(options) >= 8 and options[1]:
        if options[0] == _TARGET_ADDRESS:
            return options[2:8]
        options = options[8 * options[1] :]
    return bytes(6)


def _collect(
    way: socket.socket,
    seconds: float,
    ask: Callable[[], object],
    read: Callable[[bytes], bytes | None],
    own: bytes,
) -> frozenset[str]:
    began, asked = time.monotonic(), 0
    found: set[str] = set()
    while (now := time.monotonic() - began) < seconds:
        if asked < QUESTIONS and now >= asked * seconds / (QUESTIONS + 1):
            ask()
            asked += 1
        if select.select([way], [], [], 0.05)[0]:
            answer = read(way.recv(2048))
            if answer is not None and answer != own:
                found.add(answer.hex(":"))
    return frozenset(found)
