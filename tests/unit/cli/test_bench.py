"""What `floor bench` says before it measures, and of files that it cannot have."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from floor.bench import run
from floor.bench.level import Level
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


def test_what_cannot_be_meant_is_said_before_anything_is_measured(floor: Floor) -> None:
    done = floor("bench", "nomodel", "--dry-run")
    assert (done.code, done.err) == (2, "error: nomodel: there is no such model; there are flagship\n")
    done = floor("bench", "m", "--url", "http://192.0.2.9:99999", "--dry-run")
    assert done.code == 2
    assert done.err.startswith("error: --url http://192.0.2.9:99999: write http://HOST:PORT")


def test_two_runs_as_json(floor: Floor) -> None:
    levels = (Level(1, (10.0,) * 4, 60.0, {}, {}, 5, 0),)
    run.save(Path("a.json"), run.Run({"url": "http://a"}, levels))
    run.save(Path("b.json"), run.Run({"url": "http://b"}, levels))
    done = floor("bench", "--compare", "a.json", "--out", "b.json", "--json")
    found = json.loads(done.out)
    assert {name: one["url"] for name, one in found.items()} == {"a.json": "http://a", "b.json": "http://b"}
    assert found["a.json"]["levels"][0]["tokens_per_second"] == 10.0


def test_a_certificate_that_is_none(floor: Floor) -> None:
    Path("c.pem").write_text("none")
    done = floor("bench", "m", "--url", "https://192.0.2.9", "--certificate", "c.pem", "--levels", "1")
    assert done.code == 2
    assert done.err.splitlines()[-1].startswith("error: --certificate c.pem: cannot be read as a certificate: ")
