"""Answers by the book: which one, what goes over the wire, and what its fault does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from floor.errors import UsageError
from floor.sim import faults
from floor.sim.asking import Asked, decide_chat
from floor.sim.book import Book, Played, load
from floor.sim.said import Said
from floor.sim.settings import Settings
from floor.sim.tooling import Desk, Memory

CONTENT = {
    "scenarios": [
        {
            "values": {"part": r"[A-Z]+", "pieces": r"\d+"},
            "numbers": ["pieces"],
            "learn": ["How many of ${part}", '{"pieces": ${pieces}}'],
            "turns": [
                {
                    "user": "How many of (?P<part>[A-Z]+)",
                    "steps": [
                        {"calls": [{"name": "stock", "arguments": {"part": "${part}"}}]},
                        {"say": "${pieces} of ${part}"},
                    ],
                },
                {
                    "user": "And then",
                    "steps": [{"calls": [{"name": "log", "arguments": {"n": "${pieces}"}}]}, {"say": "ok"}],
                },
            ],
        }
    ]
}
USER = {"role": "user", "content": "How many of ABC"}
CALLED = {"role": "assistant", "tool_calls": []}
RESULT = {"role": "tool", "content": '{"pieces": 12}'}
SAID = {"role": "assistant", "content": "12 of ABC"}
THEN = {"role": "user", "content": "And then"}


@pytest.mark.parametrize(
    ("messages", "wanted"),
    [
        ([USER], Played("", (("stock", {"part": "ABC"}),))),
        ([USER, CALLED, RESULT], Played("12 of ABC")),
        ([USER, CALLED, RESULT, CALLED, RESULT, CALLED], Played("12 of ABC")),
        ([USER, CALLED, RESULT, SAID, THEN], Played("", (("log", {"n": 12}),))),
        ([THEN], None),
        ([{"role": "user", "content": "How many of it"}], None),
        ([], None),
    ],
)
def test_the_next_step_follows_from_the_conversation(messages: list[dict[str, Any]], wanted: Played | None) -> None:
    assert Book(CONTENT).next(messages) == wanted


@pytest.mark.parametrize("content", ["{", "{}", '{"scenarios": [{}]}', "[]"])
def test_a_file_that_is_no_book_is_told(tmp_path: Path, content: str) -> None:
    path = tmp_path / "book"
    path.write_text(content)
    with pytest.raises(UsageError, match="book: cannot be read as an answer book: "):
        load(str(path))
    path.write_text(json.dumps(CONTENT))
    assert load(str(path)).next([USER]) is not None


def asked(messages: list[dict[str, Any]], **more: Any) -> tuple[Asked, dict[str, Any]]:
    content = {"messages": messages, **more}
    return decide_chat(content, Settings(), ("simulated",)), content


def answer(what: str = "", **more: Any) -> Asked:
    """The answer to the first question, with a fault."""
    options = {name: more.pop(name) for name in ("mode", "share") if name in more}
    fault = faults.make("tools", {"what": what, **options}) if what else None
    return Desk(Book(CONTENT)).answer(*asked([USER], **more), fault, 1, "id-")


def test_a_conversation_that_the_book_does_not_know_is_answered_as_without_it() -> None:
    decided, content = asked([{"role": "user", "content": "Hello"}])
    assert Desk(Book(CONTENT)).answer(decided, content, None, 1, "id-") is decided


def test_a_call_is_streamed_name_first_and_has_an_id_of_its_own() -> None:
    found = answer()
    pieces = [delta["tool_calls"][0] for deltas in found.deltas for delta in deltas]
    assert pieces[0] == {"id": "chatcmpl-tool-id-0", "type": "function", "index": 0, "function": {"name": "stock"}}
    assert "".join(piece["function"]["arguments"] for piece in pieces[1:]) == '{"part": "ABC"}'
    assert (found.finish, len(found.tokens)) == ("tool_calls", len(found.deltas))


def test_an_answer_ends_at_its_most_tokens() -> None:
    found = answer(max_tokens=2)
    assert (found.finish, len(found.tokens)) == ("length", 2)


@pytest.mark.parametrize(
    ("options", "stream", "struck"),
    [
        ({}, True, True),
        ({"mode": "streamed"}, False, False),
        ({"mode": "whole"}, False, True),
        ({"share": 0.0}, True, False),
    ],
)
def test_a_fault_meets_what_it_is_for(options: dict[str, Any], stream: bool, struck: bool) -> None:
    found = answer("silent", stream=stream, **options)
    assert found.said is not None
    assert (found.said.calls == []) is struck


def test_a_share_of_all_conversations_is_struck() -> None:
    fault = faults.make("tools", {"what": "silent", "share": 0.25})
    desk, struck = Desk(Book(CONTENT)), 0
    for letters in (f"{a}{b}" for a in "ABCDEFGHIJKLMNOPQRST" for b in "ABCDEFGHIJ"):
        found = desk.answer(*asked([{"role": "user", "content": f"How many of {letters}"}]), fault, 1, "")
        struck += found.said is not None and not found.said.calls
    assert 30 <= struck <= 70


def test_thoughts_come_before_the_answer() -> None:
    said = Said.of(Played("so"), "key", reasoning=3)
    assert [list(deltas[0]) for deltas in said.deltas()] == [["reasoning"]] * 3 + [["content"]]
    assert len(said.reasoning.split()) == 3


def test_a_memory_confuses_what_came_before_something_else() -> None:
    memory = Memory()
    assert [memory.confused(prompt) for prompt in "aabbaa"] == [False, False, False, False, True, True]


def test_an_unknown_fault_of_calls_is_told() -> None:
    with pytest.raises(UsageError, match="fault tools: what is 'lost'; write one of call-in-content, "):
        faults.make("tools", {"what": "lost"})
