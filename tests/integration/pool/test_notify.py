"""What systemd is told, seen at its socket."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from floor.box.notify import Notifier


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
        made.bind(str(tmp_path / "notify"))
        made.settimeout(5)
        yield made


def test_each_message_is_one_datagram(systemd: socket.socket) -> None:
    notifier = Notifier({"NOTIFY_SOCKET": systemd.getsockname()})
    notifier.ready("flagship:\n2 of 2 in")
    notifier.alive()
    notifier.stopping()
    assert [systemd.recv(999) for _ in range(3)] == [
        b"READY=1\nSTATUS=flagship: 2 of 2 in",
        b"WATCHDOG=1",
        b"STOPPING=1",
    ]


def test_an_abstract_address_is_understood() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind("\0floor-test-notify")
        systemd.settimeout(5)
        Notifier({"NOTIFY_SOCKET": "@floor-test-notify"}).ready()
        assert systemd.recv(999) == b"READY=1"


@pytest.mark.parametrize("environ", [{}, {"NOTIFY_SOCKET": ""}, {"NOTIFY_SOCKET": "/no/such/socket"}])
def test_nobody_there_is_no_fault(environ: dict[str, str]) -> None:
    Notifier(dict(environ)).ready("x")


@pytest.mark.parametrize(
    ("environ", "every"),
    [
        ({"WATCHDOG_USEC": "30000000"}, 15.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "42"}, 15.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "43"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "x"}, None),
        ({}, None),
    ],
)
def test_signs_of_life_are_due_twice_as_often_as_asked(environ: dict[str, str], every: float | None) -> None:
    assert Notifier(dict(environ), pid=42).watchdog_every == every


def test_children_do_not_inherit_it() -> None:
    environ = {"NOTIFY_SOCKET": "/x", "WATCHDOG_USEC": "1", "WATCHDOG_PID": "1", "PATH": "/bin"}
    Notifier(environ)
    assert environ == {"PATH": "/bin"}
