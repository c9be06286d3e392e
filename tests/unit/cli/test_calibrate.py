"""`floor calibrate`, from its words to what is printed."""

from __future__ import annotations

import json

import pytest

from floor.cli.calibrate import lines
from floor.engines.log import Start
from floor.layout.calibrated import Point
from floor.operations.calibrate import Calibration
from tests.simulated.situation import Situation
from tests.unit.cli.conftest import Floor

QUICK = ("--depths", "64,1024", "--at-once", "4", "--answer", "32")


def test_what_was_measured_is_shown_and_kept(deployed: Situation, floor: Floor) -> None:
    done = floor("calibrate", "spark-a", *QUICK)
    assert (done.code, done.err) == (0, "")
    assert done.lines == [
        "flagship@spark-a is out of every pool and idle",
        "flagship@spark-a is in every pool",
        " at once    prompt    read in   tokens/s     each",
        "       1        64     0.06 s       45.3     45.3",
        "       1     1,024     1.02 s       43.4     43.4",
        "       4        64     0.26 s      141.2     35.3",
        "its log tells no tokens of its cache",
        "kept on spark-a: `floor layout` uses it before any constant",
    ]
    assert "flagship@spark-a" in deployed.box("spark-a").calibrations


def test_json_is_alone_on_stdout(deployed: Situation, floor: Floor) -> None:
    done = floor("calibrate", "flagship@spark-a", *QUICK, "--json")
    found = json.loads(done.out)
    assert set(found) == {"backend", "box", "launch", "start", "cache", "points"}
    assert found["points"][0] == {
        "at_once": 1,
        "prompt": 64,
        "answer": 32,
        "first": 0.064,
        "speed": pytest.approx(45.3, abs=0.1),
    }
    assert done.err == "flagship@spark-a is out of every pool and idle\nflagship@spark-a is in every pool\n"


def test_a_dry_run_says_what_would_be_measured_and_touches_nothing(deployed: Situation, floor: Floor) -> None:
    done = floor("calibrate", "flagship@spark-a", *QUICK, "--dry-run")
    assert done.code == 3
    assert done.lines == [
        "take flagship@spark-a out of every pool, wait until it is idle, measure, let it in again:",
        "  1 at once, prompts of 64 tokens, answers of 32",
        "  1 at once, prompts of 1,024 tokens, answers of 32",
        "  4 at once, prompts of 64 tokens, answers of 32",
    ]
    assert [line for line in deployed.world.log if "drain" in line or "calibrate" in line] == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("nobody",), "nobody: no backend is called that; there are flagship@spark-a, flagship@spark-b"),
        (("spark-a", "--depths", "soon"), "--depths soon: write whole numbers above 0 with commas between"),
        (("spark-a", "--at-once", "0"), "--at-once 0: write whole numbers above 0"),
        (("spark-a", "--at-once", "99"), "flagship@spark-a: found 99 requests at once; it takes 12"),
    ],
)
def test_words_that_cannot_be_meant(deployed: Situation, floor: Floor, words: tuple[str, ...], told: str) -> None:
    done = floor("calibrate", *words)
    assert done.code == 2
    assert told in done.err


@pytest.mark.parametrize(
    ("logged", "computed", "why", "told"),
    [
        (262_144, 262_144, "", "cache: 262,144 tokens logged, as computed"),
        (200_000, 210_000, "", "cache: 200,000 tokens logged, 210,000 computed (+5.0%)"),
        (200_000, None, "llamacpp does not log its cache", "not computed: llamacpp does not log its cache"),
    ],
)
def test_the_cache_beside_what_was_logged(logged: int, computed: int | None, why: str, told: str) -> None:
    start = Start(weights=70.9, available=13.37, tokens=logged)
    found = Calibration("m@a", "a", "x", start, (Point(1, 64, 32, 0.1, 40.0),), computed, why)
    shown = list(lines(found))
    assert "its start logged: weights 70.90 GiB, cache 13.37 GiB" in shown
    assert told in shown[-2]
