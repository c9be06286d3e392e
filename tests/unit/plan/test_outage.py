"""How long a switch is said to take: what was seen, else what floor.yaml says, and which of the two it is."""

from __future__ import annotations

from typing import Any

import pytest

from floor.plan.outage import duration, expected
from tests.simulated.fixtures import situation
from tests.simulated.situation import SPLIT, Situation

__all__ = ["situation"]
A, B, GROUP = "flagship@spark-a", "flagship@spark-b", "flagship@spark-a+spark-b"


def start(seconds: float, warm: float, launch: str = "other") -> dict[str, Any]:
    return {"launch": launch, "seconds": seconds, "warm": warm, "at": 1}


def told(situation: Situation, mode: str, noted: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """What is expected of a switch to `mode`, with what each box has noted."""
    situation.text = SPLIT
    situation.site()
    for name, found in noted.items():
        situation.box(name).noted = found
    aim = situation.site().observe(mode, switch=True)
    found = expected(aim, aim.sleeping, aim.copies)
    assert found is not None
    return found.as_json()


def test_nothing_is_known(situation: Situation) -> None:
    assert told(situation, "split", {}) == {
        "seconds": 2435.0,
        "stop": 30.0,
        "start": 2400.0,
        "basis": "a guess: start_time of floor.yaml, as no start of it was seen yet",
        "guess": True,
    }


def test_the_slowest_stop_and_the_last_start(situation: Situation) -> None:
    stops = {"starts": [], "stops": [{"seconds": 90.0}, {"seconds": 12.0}]}
    quick = {"starts": [], "stops": [{"seconds": 3.0}]}
    group = {"starts": [start(900.0, 9.0), start(600.0, 20.5)], "stops": []}
    found = told(situation, "split", {"spark-a": {A: stops, GROUP: group}, "spark-b": {B: quick}})
    assert (found["stop"], found["start"], found["guess"]) == (12.0, 620.5, False)
    assert found["basis"] == f"as {GROUP} took last, with other settings"


def test_a_start_with_the_same_settings_counts_before_a_later_one(situation: Situation) -> None:
    situation.text = SPLIT
    digest = next(
        copy.state.launch.digest for copy in situation.site().observe("split", switch=True).copies if copy.grouped
    )
    starts = [start(500.0, 10.0, digest), start(50.0, 1.0)]
    found = told(situation, "split", {"spark-a": {GROUP: {"starts": starts, "stops": []}}})
    assert (found["start"], found["basis"]) == (510.0, f"as {GROUP} took last")


def test_of_several_copies_the_first_that_is_warm_ends_it(situation: Situation) -> None:
    slow, fast = {"starts": [start(300.0, 10.0)], "stops": []}, {"starts": [start(100.0, 5.0)], "stops": []}
    found = told(situation, "replicas", {"spark-a": {A: slow}, "spark-b": {B: fast}})
    assert (found["start"], found["basis"]) == (105.0, f"as {B} took last, with other settings")


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "1 s"), (89, "89 s"), (90, "2 min"), (420, "7 min"), (4741, "1 h 20 min")]
)
def test_times_as_a_person_says_them(seconds: float, words: str) -> None:
    assert duration(seconds) == words
