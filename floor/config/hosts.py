"""Addresses and host names as floor.yaml may hold them. Pure: nothing is looked up."""

from __future__ import annotations

import ipaddress
import re

# RFC 1123 names and IP literals; `host` says more than a pattern can.
PATTERN = r"^[0-9A-Za-z:]([0-9A-Za-z.:-]*[0-9A-Za-z:])?$"
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", re.ASCII | re.IGNORECASE)
_URL = re.compile(r"http://(\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?P<name>[^\[\]:/@?#\s]+))(:(?P<port>[0-9]{1,5}))?/?", re.ASCII)
MEANT = "an address such as 192.0.2.11, or a host name"

Ip = ipaddress.IPv4Address | ipaddress.IPv6Address


def literal(value: str) -> Ip | None:
    """Given a host, return it as an IP address, or None where it is a name."""
    try:
        return ipaddress.ip_address(value)
    except ValueError:
        return None


def is_loopback(value: str) -> bool:
    """Given a host, tell whether every machine means itself by it."""
    ip = literal(value)
    return value.lower() == "localhost" or value.lower().endswith(".localhost") or (ip is not None and ip.is_loopback)


def normal(value: str) -> str:
    """Given a host, return the form in which two spellings of the same host are equal."""
    ip = literal(value)
    return value.lower().rstrip(".") if ip is None else str(ip)


def netloc(value: str, port: int) -> str:
    """Given a host and a port, return HOST:PORT as URLs and nginx write it: an IPv6 literal in brackets."""
    ip = literal(value)
    return f"[{value}]:{port}" if ip is not None and ip.version == 6 else f"{value}:{port}"


def address(value: str) -> str:
    """Given an IP literal without brackets, return it. Raise ValueError with what to write otherwise."""
    if value.startswith("["):
        raise ValueError(f"the address without brackets: {value.strip('[]')[:60]}")
    ip = literal(value)
    if ip is None or "%" in value:
        raise ValueError("an IP address, such as 192.0.2.10")
    if ip.is_unspecified or ip.is_multicast or value == "255.255.255.255":
        raise ValueError("the address of one machine, such as 192.0.2.10")
    return value


def network(value: str) -> str:
    """Given an IP literal or a network in CIDR form, return it. Raise ValueError with what to write otherwise."""
    try:
        found = ipaddress.ip_network(value, strict=False)
    except ValueError:
        raise ValueError("an address or a network, such as 192.0.2.50 or 198.51.100.0/24") from None
    if found.prefixlen == 0:
        raise ValueError("a smaller network: to let everybody in and only count, write `direct: warn`")
    if "/" in value and str(found.network_address) != str(ipaddress.ip_address(value.partition("/")[0])):
        raise ValueError(f"{found}, the network that this address is in, or the address alone")
    return value


def host(value: str) -> str:
    """Given an IP literal or a host name, return it. Raise ValueError with what to write otherwise."""
    if "://" in value or "/" in value or "@" in value:
        raise ValueError(f"{MEANT}, without scheme, user or path")
    if value.startswith("["):
        raise ValueError(f"the address without brackets and port: {value[1:].partition(']')[0][:60]}")
    if literal(value) is not None:
        return address(value)
    if ":" in value:
        raise ValueError(f"{MEANT}, without a port")
    if "_" in value:
        raise ValueError("a host name without `_` (engines answer 400 to such a Host), or the address")
    labels = value.removesuffix(".").split(".")
    if len(value) > 253 or not all(_LABEL.fullmatch(label) for label in labels) or labels[-1].isdigit():
        raise ValueError(MEANT)
    if value.lower() == "localhost":
        raise ValueError("127.0.0.1, or the address by which others reach it: localhost is two addresses")
    return value


def url(value: str) -> str:
    """Given http://HOST or http://HOST:PORT, return it. Raise ValueError with what to write otherwise."""
    match = _URL.fullmatch(value)
    if match is None or not 1 <= int(match["port"] or 80) <= 65535:
        raise ValueError("http://HOST:PORT and nothing behind it, such as http://192.0.2.20:8000")
    host(match["v6"] or match["name"])
    return value.removesuffix("/")


def split_url(value: str) -> tuple[str, int]:
    """Given what `url` returned, return its host (without brackets) and its port. Raise ValueError for another text."""
    match = _URL.fullmatch(value)
    if match is None:
        raise ValueError(f"not an address of a backend: {value}")
    return match["v6"] or match["name"], int(match["port"] or 80)
