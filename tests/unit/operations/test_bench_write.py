"""Whose cap an advice becomes: never that of another number of backends than were measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from floor.errors import RefusedError, UsageError
from floor.operations import bench_write, drain
from tests.simulated.situation import SPLIT, Situation

MODEL = ("models", "flagship", "max_requests")


def home(situation: Situation) -> bench_write.Home:
    return bench_write.home(situation.site(), "flagship", None)


def test_all_copies_of_the_pool_share_it(deployed: Situation) -> None:
    assert home(deployed) == bench_write.Home(MODEL, 2)
    assert bench_write.home(deployed.site(), "flagship", drain.find(deployed.site(), "spark-a")).backends == 1


def test_one_that_is_not_in_the_pool_has_no_part_in_it(deployed: Situation) -> None:
    site = deployed.site()
    drain.drain(site, drain.find(site, "spark-b"), print, last=False)
    with pytest.raises(RefusedError) as caught:
        home(deployed)
    assert str(caught.value) == (
        "--write: flagship@spark-b not in the pool of spark-a, so the advice would be for another number of copies; "
        "`floor status` tells why. Measure when all serve, or one of them with --copy"
    )


def test_caps_that_stand_in_several_places(deployed: Situation) -> None:
    deployed.edit("replicas: [spark-a, spark-b]", "replicas: [spark-a, {box: spark-b, max_requests: 4}]")
    deployed.deploy()
    with pytest.raises(UsageError) as caught:
        home(deployed)
    assert str(caught.value) == (
        "--write: caps stand in several places (flagship@spark-a at models.flagship.max_requests and flagship@spark-b "
        "at models.flagship.replicas.1.max_requests); measure each copy by itself with --copy"
    )


def test_a_group_takes_all_of_it_and_has_its_own_place(situation: Situation) -> None:
    situation.text = SPLIT
    situation.deployment_in("split")
    assert home(situation) == bench_write.Home(("models", "flagship", "split", "max_requests"), 1)


def test_nothing_is_written_without_advice_or_when_others_answer(deployed: Situation, tmp_path: Path) -> None:
    place, site, began = tmp_path / "floor.yaml", deployed.site(), home(deployed)
    place.write_text(deployed.text)
    told = bench_write.advised(site, "flagship", None, began, place, None)
    assert told == "nothing is written: there is no advice"
    other = bench_write.Home(MODEL, 1)
    with pytest.raises(RefusedError, match="nothing is written: others answer than when the measurement began"):
        bench_write.advised(site, "flagship", None, other, place, 16)
    assert place.read_text() == deployed.text
    assert "+    max_requests: 8" in bench_write.advised(site, "flagship", None, began, place, 16)
    told = bench_write.advised(site, "flagship", None, began, place, 16)
    assert told == f"{place} says so already"
