"""`make demo`, run fast: it tells its story, its figures hold, and it leaves nothing behind, however it ends."""

from __future__ import annotations

import re

from tests.demo.show import Show

Shows = dict[str, Show]


def number(pattern: str, text: str) -> float:
    """The number that a pattern's group finds in a text."""
    found = re.search(pattern, text)
    assert found is not None, f"{pattern} not in {text!r}"
    return float(found[1])


def test_everything_held(shows: Shows) -> None:
    assert shows["whole"].code == 0, shows["whole"].text
    assert "NOT AS PROMISED" not in shows["whole"].text


def test_clients_of_an_empty_pool_are_told_to_come_again(shows: Shows) -> None:
    early = shows["whole"].line("a client asks at once")
    assert "503" in early
    assert 2 <= number(r"Retry-After (\d+)", early) <= 10


def test_the_answer_is_streamed(shows: Shows) -> None:
    told = shows["whole"].line("words: the first after")
    assert number(r"(\d+) words", told) == 18
    first, last = number(r"first after ([\d.]+) s", told), number(r"last after ([\d.]+) s", told)
    assert last - first >= 0.03, "all words came at once"


def test_a_dead_copy_leaves_the_pool_and_comes_back(shows: Shows) -> None:
    whole = shows["whole"]
    assert number(r"out of the pool ([\d.]+) s after its death", whole.text) <= 6
    assert number(r"in the pool ([\d.]+) s after that", whole.text) <= 4


def test_only_requests_on_the_dead_copy_fail(shows: Shows) -> None:
    whole = shows["whole"]
    asked = number(r"requests +(\d+) streamed", whole.text)
    answered = number(r"answered +(\d+)", whole.text)
    failed, lost = number(r"failed +(\d+);", whole.text), number(r"; (\d+) were under way", whole.text)
    assert asked == answered + failed
    assert failed <= lost
    assert lost <= 12
    assert number(r"\n502 +(\d+)", whole.text) == 0


def test_both_copies_carry_the_load(shows: Shows) -> None:
    shares = shows["whole"].line("streamed (")
    assert number(r"flagship@spark-a (\d+)", shares) > 10
    assert number(r"flagship@spark-b (\d+)", shares) > 5


def test_the_table_shows_before_while_and_after(shows: Shows) -> None:
    rows = [line for line in shows["whole"].lines if line.startswith("flagship@spark-b ")]
    pools = [row.split()[1] for row in rows]
    units = [row.split()[2] for row in rows]
    assert pools == ["in", "out", "in"]
    assert units == ["active", "activating", "active"]
    assert shows["whole"].text.count("3 active") == 3


def test_it_is_short_to_read(shows: Shows) -> None:
    assert len(shows["whole"].lines) <= 50
    told = [
        line for line in shows["whole"].lines if not line.startswith("flagship@")
    ]  # a table is as wide as its reasons
    assert max(map(len, told)) <= 120


def test_nothing_is_left_of_a_whole_run(shows: Shows) -> None:
    whole = shows["whole"]
    assert len(whole.started) >= 5, "nginx, a worker, the pool and two engines had been started"
    assert whole.left() == []


def test_ctrl_c_ends_it_and_leaves_nothing(shows: Shows) -> None:
    interrupted = shows["interrupted"]
    assert interrupted.code == 130, interrupted.text
    assert interrupted.lines[-1] == "demo: interrupted; all that was started is ended and removed"
    assert "Traceback" not in interrupted.text
    assert interrupted.started
    assert interrupted.left() == []


def test_a_part_that_fails_is_named_and_leaves_nothing(shows: Shows) -> None:
    broken = shows["broken"]
    assert broken.code == 1, broken.text
    assert "demo: floor-pool has ended with -9" in broken.lines
    assert "Traceback" not in broken.text
    assert broken.left() == []
