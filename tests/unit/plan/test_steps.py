"""Which stages run before the boxes are looked at again."""

from __future__ import annotations

import pytest

from floor.plan.steps import Plan, Stage


@pytest.mark.parametrize(
    ("sure", "run"),
    [("", ""), ("-", "a"), ("+", "a"), ("--", "a"), ("+-", "ab"), ("++-+", "abc"), ("-+-", "a"), ("+++", "abc")],
)
def test_what_follows_upon_a_stage_that_is_sure(sure: str, run: str) -> None:
    stages = tuple(Stage(title, (), sure=word == "+") for title, word in zip("abcd", sure, strict=False))
    assert "".join(stage.title for stage in Plan(stages).first) == run
