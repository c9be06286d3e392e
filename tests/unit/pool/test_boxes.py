"""What a status port answers, and what is said of anything else that answers there."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floor.errors import FloorError
from floor.pool.boxes import Status, read
from floor.pool.memory import UnitSeen
from floor.pool.missed import Told

URL = "http://192.0.2.12:8099/status"
UNIT = {"active": "active", "sub": "running", "result": "success", "invocation": "a1", "restarts": 0}


def answer(document: object, status: str = "200 OK") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n\r\n{json.dumps(document)}".encode()


def test_units_are_read() -> None:
    found = read(answer({"boot_id": "x", "units": {"floor-copy-x.service": UNIT}, "drains": {}}), URL, 7.0)
    units = {"floor-copy-x.service": UnitSeen("floor-copy-x.service", "active", "running", "success", "a1")}
    assert found == Status(7.0, units), "an older release tells no more than that"


def test_what_is_about_to_stop_is_read() -> None:
    told = {"units": {}, "leaving": {"floor-copy-x.service": 1.5}, "stopping": True}
    assert read(answer(told), URL, 7.0) == Status(7.0, {}, frozenset({"floor-copy-x.service"}), True)


def test_absences_and_untested_builds_that_a_box_holds_are_read_and_whose_they_are() -> None:
    held = [
        {"holder": "absent: b", "epoch": None, "at": 1.0},
        {"holder": "untested: 0a1b", "epoch": None, "at": 1.0},
        {"holder": "ada@laptop", "epoch": None, "at": 1.0},
        {"holder": "deploy by ada@laptop", "epoch": 7, "at": 1.0},
    ]
    told = {"units": {}, "drains": {"m@b": held, "m@c": held[2:]}, "operation": {"epoch": 7, "live": False}}
    assert read(answer(told), URL, 7.0).told == Told(7, {"m@b": ("absent: b", "untested: 0a1b")})


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (b"", "answers b'', not HTTP; does something else listen on the status port?"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "answers b'SSH-2.0-OpenSSH_9.2"),
        (answer({}, "401 Unauthorized"), "answers 401; the boxes' status keys differ, `floor deploy` makes them one"),
        (answer({}, "503 Service Unavailable"), "answers 503; look at floor-agent.service there"),
        (answer({}), "answers no status (KeyError('units')); run `floor deploy` for that box"),
        (answer([]), "answers no status ("),
        (answer({"units": {"x": {**UNIT, "active": None}}}), "answers no status (TypeError("),
        (answer({"units": {"x": {}}}), "answers no status (KeyError("),
        (answer({"units": {}, "drains": {"m@b": [{}]}}), "answers no status (KeyError("),
        (b"HTTP/1.1 200 OK\r\n\r\n{", "answers no status (JSONDecodeError("),
    ],
)
def test_anything_else_is_said(found: bytes, says: str) -> None:
    with pytest.raises(FloorError) as raised:
        read(found, URL, 7.0)
    assert str(raised.value).startswith(f"{URL}: {says}")


@given(st.binary() | st.builds(lambda body: b"HTTP/1.1 200 OK\r\n\r\n" + body, st.binary()))
def test_any_bytes_are_read_or_refused_in_words(found: bytes) -> None:
    with pytest.raises(FloorError, match="answers"):
        read(found, URL, 7.0)
