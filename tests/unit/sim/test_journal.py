"""What an engine remembers of the requests that reached it."""

from __future__ import annotations

from hashlib import sha256

from floor.sim.journal import Journal


def test_posts_are_remembered_one_by_one_and_the_rest_counted() -> None:
    journal = Journal()
    journal.open("GET", "/health", 1.0)
    journal.open("GET", "/health", 2.0)
    journal.open("POST", "/v1/chat/completions", 3.0).took(b"body")
    shown = journal.show()
    assert shown["paths"] == {"GET /health": 2, "POST /v1/chat/completions": 1}
    assert [(post["number"], post["size"], post["outcome"]) for post in shown["posts"]] == [(3, 4, "open")]
    assert shown["posts"][0]["sha256"] == sha256(b"body").hexdigest()


def test_only_the_latest_are_kept() -> None:
    journal = Journal(keep=3)
    for number in range(10):
        journal.open("POST", "/x", float(number))
    assert [post["at"] for post in journal.show()["posts"]] == [7.0, 8.0, 9.0]
    assert journal.show()["paths"] == {"POST /x": 10}
