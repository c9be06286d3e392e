"""What is asked."""

from __future__ import annotations

import json

import pytest

from floor.bench.traffic import CHAT, COMPLETION, MIXES, built_in, numbered, read
from floor.errors import UsageError


@pytest.mark.parametrize("mix", list(MIXES))
def test_built_in_prompts_are_never_the_same(mix: str) -> None:
    requests = built_in(mix)
    bodies = [json.dumps(numbered(requests, number).body) for number in range(2 * len(requests))]
    assert len(set(bodies)) == len(bodies)
    assert numbered(requests, 7).body["messages"][0]["content"].startswith("7 word")


def test_an_unknown_mix() -> None:
    with pytest.raises(UsageError, match="--mix x: there is no such mix; write one of short, long, mix"):
        built_in("x")


def test_requests_of_ones_own_are_sent_as_they_are() -> None:
    text = '{"model": "x", "stream": false, "messages": [{"role": "user", "content": "Hi"}]}\n\n{"prompt": "a"}\n'
    chat, completion = read(text, "t.jsonl")
    assert (chat.path, dict(chat.body)) == (CHAT, {"messages": [{"role": "user", "content": "Hi"}]})
    assert completion.path == COMPLETION
    assert numbered((chat, completion), 2) == chat
    (own,) = read(
        '{"ignore_eos": true, "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]}', "t"
    )
    assert numbered((own,), 7) == own


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "t.jsonl: holds no request; write one request's body a line"),
        ("{", "t.jsonl:1: is not JSON"),
        ('{"prompt": "a"}\n[]', "t.jsonl:2: is no request; write an object with `messages` or `prompt`"),
        ('{"messages": []}', "t.jsonl:1: is no request"),
        ('{"messages": ["Hi"]}', "t.jsonl:1: is no request"),
        ("[" * 100_000, "t.jsonl:1: is not JSON"),
    ],
)
def test_what_is_no_request(text: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(text, "t.jsonl")
    assert str(caught.value).startswith(says)
