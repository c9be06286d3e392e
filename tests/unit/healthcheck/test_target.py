"""What may be asked, and what is refused before anything is."""

from __future__ import annotations

from typing import Any

import pytest

from floor.errors import FloorError
from floor.healthcheck.target import Target, base_url

MORE = "has more than an address; write http://HOST:PORT, floor adds the paths itself"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("http://192.0.2.11:8000", "http://192.0.2.11:8000"),
        ("http://192.0.2.11:8000/", "http://192.0.2.11:8000"),
        ("http://192.0.2.11:8000/v1", "http://192.0.2.11:8000"),
        ("http://192.0.2.11:8000/v1/", "http://192.0.2.11:8000"),
        ("HTTPS://Mac.local", "https://Mac.local"),
        ("http://[fd00::2]:8000", "http://[fd00::2]:8000"),
    ],
)
def test_addresses_as_people_write_them(written: str, meant: str) -> None:
    assert base_url(written) == meant


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("192.0.2.11:8000", "'192.0.2.11:8000': not an engine's address; write http://HOST:PORT"),
        ("ftp://a", "'ftp://a': not an engine's address; write http://HOST:PORT"),
        ("http://", "'http://': not an engine's address; write http://HOST:PORT"),
        ("", "'': not an engine's address; write http://HOST:PORT"),
        ("http://a b", "'http://a b': not an engine's address; write http://HOST:PORT"),
        ("http://bücher", "'http://bücher': not an engine's address; write http://HOST:PORT"),
        ("http://a:0", "'http://a:0': not an engine's address; write http://HOST:PORT"),
        ("http://a:8000/chat", f"'http://a:8000/chat': {MORE}"),
        ("http://a?x=1", f"'http://a?x=1': {MORE}"),
        ("http://me:secret@a", "the URL holds a user name or password; give the engine key in a file instead"),
    ],
)
def test_addresses_that_cannot_be_meant(written: str, message: str) -> None:
    with pytest.raises(FloorError) as caught:
        base_url(written)
    assert str(caught.value) == message


@pytest.mark.parametrize("written", ["http://fd00::2:8000", "http://a:99999", "http://a:x", "http://[::1"])
def test_ports_and_brackets(written: str) -> None:
    """What urllib refuses is quoted with what to write."""
    with pytest.raises(FloorError, match=r"not a URL \(.*\); write http://HOST:PORT, an IPv6 address in brackets"):
        base_url(written)


def target(**given: Any) -> Target:
    return Target(**{"name": "flagship@a", "url": "http://192.0.2.11:8000", "model": "flagship", **given})


def test_a_key_is_never_shown() -> None:
    assert "sk-secret" not in repr(target(key="sk-secret"))


@pytest.mark.parametrize("key", ["two\nlines", " space", "käse", "nul\0"])
def test_a_key_that_no_header_can_carry(key: str) -> None:
    """Said before anything is asked, and without the key."""
    with pytest.raises(FloorError) as caught:
        target(key=key)
    message = "flagship@a: the engine key must be one line of ASCII characters without spaces around it"
    assert str(caught.value) == message


@pytest.mark.parametrize("what", ["stall", "probe_timeout", "min_speed"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
def test_limits_are_above_zero(what: str, value: float) -> None:
    with pytest.raises(FloorError) as caught:
        target(**{what: value})
    assert str(caught.value) == f"flagship@a: {what} is {value}; write a number above 0"


def test_an_unknown_dialect_is_refused_at_once() -> None:
    with pytest.raises(FloorError, match="unknown dialect 'tgi'; known: llamacpp, ollama, vllm"):
        target(dialect="tgi")


def test_an_unknown_task_is_refused_at_once() -> None:
    with pytest.raises(FloorError, match="unknown task 'chat'; known: generate, embed"):
        target(task="chat")


def test_no_speed_is_asked_of_what_makes_no_tokens() -> None:
    assert target(task="embed", min_speed=5.0).min_speed is None
