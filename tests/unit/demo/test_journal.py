"""What the demo reads out of nginx's access log."""

from __future__ import annotations

import json

from examples.demo.journal import Journal, Line

A, B = "127.0.0.1:8001", "127.0.0.2:8002"


def datagram(upstream: str, status: int = 200) -> bytes:
    """A line as nginx sends it to a syslog socket."""
    return b"<190>Jan  2 03:04:05 floor_proxy: " + json.dumps({"status": status, "upstream": upstream}).encode()


def test_a_line_holds_every_copy_that_was_tried_in_turn() -> None:
    journal = Journal()
    journal.datagram_received(datagram(f"{B}, {A}"), None)
    journal.datagram_received(datagram("", 404), None)
    assert [(line.status, line.upstreams) for line in journal.lines] == [(200, (B, A)), (404, ())]


def test_the_last_copy_counts_as_the_one_that_answered() -> None:
    journal = Journal([Line(1.0, 200, (A,)), Line(2.0, 200, (B,)), Line(2.5, 200, (B, A)), Line(9.0, 200, (B,))])
    assert journal.answered_by(A) == 2
    assert journal.answered_by(B) == 2
    assert journal.ended_on(B, since=1.5, within=1.0) == 1
    assert journal.passed_on(B, since=1.5) == 1
    assert journal.passed_on(B, since=3.0) == 0
