"""What `floor bench` says before it measures, and of files that it cannot have."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.simulated.situation import Situation
from tests.unit.cli.conftest import Floor

LEVEL = ("--levels", "1,4", "--seconds", "30")


def test_a_dry_run_of_a_copy_touches_nothing(deployed: Situation, floor: Floor) -> None:
    before = [box.changeable() for box in deployed.world.boxes.values()]
    done = floor("bench", "--copy", "spark-b", *LEVEL, "--dry-run")
    assert (done.code, done.err) == (3, "")
    assert done.lines == [
        "take flagship@spark-b out of every pool, wait until it is idle, measure, let it in again:",
        "  1 at once for 30 s",
        "  4 at once for 30 s",
    ]
    assert [box.changeable() for box in deployed.world.boxes.values()] == before
    assert not Path("floor-bench.json").exists()


def test_a_dry_run_of_an_open_loop(floor: Floor) -> None:
    done = floor("bench", "m", "--url", "http://192.0.2.9", *LEVEL, "--open", "--dry-run")
    assert (done.code, done.lines) == (3, ["  1 a second for 30 s", "  4 a second for 30 s"])


@pytest.mark.parametrize("key", ["nowhere", "."])
def test_a_key_that_cannot_be_read(floor: Floor, key: str) -> None:
    done = floor("bench", "m", "--url", "http://192.0.2.9", "--key-file", key)
    assert done.code == 2
    assert done.err.startswith(f"error: --key-file {key}: cannot be read (")


@pytest.mark.parametrize("levels", ["0.5", "1,1.5", "0", "-1", "nan", "", "1;2", "20000"])
def test_levels_that_nobody_can_ask_for(floor: Floor, levels: str) -> None:
    """Half a request at once would be measured for ever: what comes back is another level than the one that is due."""
    done = floor("bench", "m", "--url", "http://192.0.2.9", "--levels", levels, "--dry-run")
    assert done.code == 2
    assert done.err.startswith(f"error: --levels {levels}: write whole numbers above 0 with commas between them")


def test_half_a_request_a_second_is_one_every_two(floor: Floor) -> None:
    done = floor("bench", "m", "--url", "http://192.0.2.9", "--levels", "0.5", "--seconds", "30", "--open", "--dry-run")
    assert (done.code, done.lines) == (3, ["  0.5 a second for 30 s"])
