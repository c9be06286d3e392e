"""Hosts, addresses and URLs: what is taken, what is refused, and how each is written where it is used."""

from __future__ import annotations

import pytest

from floor.config import hosts

GOOD_HOSTS = [
    "192.0.2.11",
    "fd00::2",
    "::1",
    "127.0.0.1",
    "spark-a",
    "spark-a.example",
    "SPARK",
    "a1",
    "x" * 63,
    "spark.lan.",
]
BAD_HOSTS = {
    "": "an address such as 192.0.2.11, or a host name",
    "spark_a": "a host name without `_` (engines answer 400 to such a Host), or the address",
    "_srv.example": "a host name without `_` (engines answer 400 to such a Host), or the address",
    "localhost": "127.0.0.1, or the address by which others reach it: localhost is two addresses",
    "LocalHost": "127.0.0.1, or the address by which others reach it: localhost is two addresses",
    "[fd00::2]": "the address without brackets and port: fd00::2",
    "[fd00::2]:8000": "the address without brackets and port: fd00::2",
    "fe80::1%eth0": "an IP address, such as 192.0.2.10",
    "spark:8000": "an address such as 192.0.2.11, or a host name, without a port",
    "fd00:::2": "an address such as 192.0.2.11, or a host name, without a port",
    "http://spark": "an address such as 192.0.2.11, or a host name, without scheme, user or path",
    "spark/x": "an address such as 192.0.2.11, or a host name, without scheme, user or path",
    "ops@spark": "an address such as 192.0.2.11, or a host name, without scheme, user or path",
    "0.0.0.0": "the address of one machine, such as 192.0.2.10",
    "::": "the address of one machine, such as 192.0.2.10",
    "224.0.0.1": "the address of one machine, such as 192.0.2.10",
    "ff02::1": "the address of one machine, such as 192.0.2.10",
    "255.255.255.255": "the address of one machine, such as 192.0.2.10",
    "192.0.2.300": "an address such as 192.0.2.11, or a host name",
    "192.0.2": "an address such as 192.0.2.11, or a host name",
    "0300.0.2.1": "an address such as 192.0.2.11, or a host name",
    "-spark": "an address such as 192.0.2.11, or a host name",
    "spark-": "an address such as 192.0.2.11, or a host name",
    "a..b": "an address such as 192.0.2.11, or a host name",
    "x" * 64: "an address such as 192.0.2.11, or a host name",
    ".".join(["x" * 60] * 5): "an address such as 192.0.2.11, or a host name",
    "spark a": "an address such as 192.0.2.11, or a host name",
    "spark;id": "an address such as 192.0.2.11, or a host name",
    "spärk": "an address such as 192.0.2.11, or a host name",
}
URLS = {
    "http://192.0.2.20": ("192.0.2.20", 80),
    "http://192.0.2.20/": ("192.0.2.20", 80),
    "http://mac.example:11434": ("mac.example", 11434),
    "http://[fd00::2]:8080": ("fd00::2", 8080),
    "http://[fd00::2]": ("fd00::2", 80),
}
BAD_URLS = [
    "192.0.2.20:8000", "https://192.0.2.20", "http://192.0.2.20/v1", "http://192.0.2.20?x", "http://ops@192.0.2.20",
    "http://192.0.2.20:0", "http://192.0.2.20:65536", "http://192.0.2.20:x", "http://fd00::2", "http://", "http://a b",
]  # fmt: skip


@pytest.mark.parametrize("host", GOOD_HOSTS)
def test_an_address_or_a_name_is_a_host(host: str) -> None:
    assert hosts.host(host) == host


@pytest.mark.parametrize("host", BAD_HOSTS)
def test_anything_else_is_refused_with_what_to_write(host: str) -> None:
    with pytest.raises(ValueError) as refusal:
        hosts.host(host)
    assert str(refusal.value) == BAD_HOSTS[host]


@pytest.mark.parametrize("name", ["spark-a", "192.0.2.0/24", "fe80::1%eth0", ""])
def test_a_shared_address_is_a_literal(name: str) -> None:
    with pytest.raises(ValueError, match=r"^an IP address, such as 192\.0\.2\.10$"):
        hosts.address(name)


def test_an_address_in_brackets_is_told_without_them() -> None:
    with pytest.raises(ValueError, match=r"^the address without brackets: fd00::2$"):
        hosts.address("[fd00::2]")


@pytest.mark.parametrize("url", URLS)
def test_a_url_is_a_host_and_a_port(url: str) -> None:
    assert hosts.split_url(hosts.url(url)) == URLS[url]


@pytest.mark.parametrize("url", BAD_URLS)
def test_a_url_with_anything_else_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"^http://HOST:PORT and nothing behind it"):
        hosts.url(url)


def test_a_url_to_a_bad_host_says_so() -> None:
    with pytest.raises(ValueError, match="without `_`"):
        hosts.url("http://mac_1:80")


def test_what_is_no_url_cannot_be_split() -> None:
    with pytest.raises(ValueError, match=r"^not an address of a backend: mac$"):
        hosts.split_url("mac")


@pytest.mark.parametrize(
    ("host", "written"),
    [("192.0.2.11", "192.0.2.11:8000"), ("fd00::2", "[fd00::2]:8000"), ("spark-a", "spark-a:8000")],
)
def test_ipv6_is_in_brackets_before_a_port(host: str, written: str) -> None:
    assert hosts.netloc(host, 8000) == written


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost", "x.localhost"])
def test_loopback_is_what_every_machine_calls_itself(host: str) -> None:
    assert hosts.is_loopback(host)


@pytest.mark.parametrize("host", ["192.0.2.1", "fd00::1", "localhost.example", "spark-a"])
def test_other_hosts_are_not(host: str) -> None:
    assert not hosts.is_loopback(host)


@pytest.mark.parametrize(
    ("one", "other"), [("FD00:0:0::2", "fd00::2"), ("Spark-A.Example.", "spark-a.example"), ("192.0.2.1", "192.0.2.1")]
)
def test_two_spellings_of_a_host_are_one(one: str, other: str) -> None:
    assert hosts.normal(one) == hosts.normal(other)
