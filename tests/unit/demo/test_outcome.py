"""The demo's figures: what it says of them, and when it says that a promise was not kept."""

from __future__ import annotations

from dataclasses import replace

from examples.demo.clients import Answer
from examples.demo.outcome import Outcome, judge, lines

WHOLE = Answer(status=200, whole=True, began=99.0, ended=101.0)
CUT = Answer(status=None, whole=False, began=99.5, ended=100.1)
GOOD = Outcome(
    answers=(WHOLE, WHOLE, CUT),
    killed=100.0,
    dead=100.02,
    out=0.2,
    back=0.4,
    lost=1,
    passed_on=1,
    by_copy={"flagship@spark-a": 2, "flagship@spark-b": 1},
)


def test_a_good_outcome_is_told_in_four_lines() -> None:
    assert lines(GOOD) == [
        "requests  3 streamed (with the chat before them: flagship@spark-a 2, flagship@spark-b 1)",
        "answered  2, 1 of them by the other copy after they had found the dead one",
        "failed    1; 1 were under way on the copy that was killed",
        "502       0",
    ]
    assert judge(GOOD) == []


def test_more_failures_than_were_on_the_dead_copy() -> None:
    late = replace(CUT, ended=104.0)
    assert judge(replace(GOOD, answers=(WHOLE, CUT, late))) == ["1 requests failed that were not on the dead copy"]


def test_a_failure_that_began_after_the_death_is_nobody_elses_fault() -> None:
    refused = replace(CUT, status=503, began=100.05, ended=100.06)
    assert judge(replace(GOOD, answers=(WHOLE, refused))) == ["1 requests failed that were not on the dead copy"]


def test_any_502_is_told() -> None:
    bad = replace(CUT, status=502)
    assert judge(replace(GOOD, answers=(WHOLE, bad))) == ["1 answers were 502"]


def test_slow_pools_are_told() -> None:
    assert judge(replace(GOOD, out=6.5)) == ["the dead copy was in the pool for 6.5 s, the goal is 3 s"]
    assert judge(replace(GOOD, back=4.2)) == ["the warm copy was out of the pool for 4.2 s, the goal is 2 s"]
