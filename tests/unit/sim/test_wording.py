"""The text of an answer is decided by its key alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floor.sim.wording import VOCABULARY, count_tokens, natural_length, split_tokens, words


@given(st.text(), st.integers(1, 300))
def test_the_same_key_gives_the_same_words(key: str, count: int) -> None:
    tokens = words(key, count)
    assert tokens == words(key, count)
    assert len(tokens) == count
    assert set("".join(tokens).split(" ")) <= set(VOCABULARY)


def test_a_longer_answer_begins_like_the_shorter() -> None:
    assert words("key", 50)[:20] == words("key", 20)


def test_another_key_gives_other_words() -> None:
    assert words("one", 20) != words("two", 20)


@given(st.text(), st.integers(1, 100), st.integers(0, 100))
def test_an_answers_length_is_within_its_bounds(key: str, shortest: int, more: int) -> None:
    assert shortest <= natural_length(key, shortest, shortest + more) <= shortest + more


@pytest.mark.parametrize(("text", "tokens"), [("", 1), ("abcd", 1), ("abcde", 2), ("ä" * 4, 2), (b"x" * 4000, 1000)])
def test_four_bytes_are_a_token(text: str | bytes, tokens: int) -> None:
    assert count_tokens(text) == tokens


@given(st.text())
def test_a_text_split_into_tokens_is_still_itself(text: str) -> None:
    assert "".join(split_tokens(text)) == text
