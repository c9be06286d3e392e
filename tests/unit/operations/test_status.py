"""`floor status`: boxes, backends as the pools see them, and what a person should see."""

from __future__ import annotations

import pytest

from floor.errors import BoxError
from floor.operations.status import status
from tests.simulated.situation import ASLEEP, Situation

UNIT = "floor-copy-flagship.service"


def test_the_shape_of_a_deployment_that_is_well(deployed: Situation) -> None:
    found = status(deployed.site())
    assert set(found) == {"boxes", "backends", "warnings"}
    assert found["warnings"] == []
    assert set(found["boxes"]["spark-a"]) == {
        *("managed", "release", "mode", "memory", "operation", "units", "firewall", "tls", "replacing", "clients"),
        "alarms",
    }
    assert found["boxes"]["spark-a"]["mode"] == "replicas"
    assert set(found["boxes"]["spark-a"]["operation"]) == {
        "epoch",
        "verb",
        "state",
        "live",
        "by",
        "abandoned",
        "finish",
    }
    assert found["backends"][0] == {
        "backend": "flagship@spark-a",
        "model": "flagship",
        "box": "spark-a",
        "managed": True,
        "unit": "active",
        "left": [],
        "member": {"spark-a": True, "spark-b": True},
        "reason": "ok",
        "evidence": "looked at http://192.0.2.11:8000",
        "running": 1,
        "waiting": 0,
        "drains": [],
        "group": None,
    }


def test_bare_boxes(situation: Situation) -> None:
    found = status(situation.site())
    assert found["boxes"]["spark-a"]["mode"] is None
    assert found["boxes"]["spark-a"]["operation"] is None
    assert found["warnings"] == ["flagship: nobody serves it"]


def test_a_box_that_does_not_answer_is_told_and_the_others_too(deployed: Situation) -> None:
    deployed.box("spark-b").up = False
    deployed.world.sleep(2)
    found = status(deployed.site())
    assert found["boxes"]["spark-b"] == {"managed": True, "error": "spark-b: no way there"}
    assert found["warnings"] == ["spark-b: no way there", "flagship: only flagship@spark-a is left"]
    deployed.box("spark-b").up = True
    deployed.box("spark-b").refuses = BoxError("spark-b: floor is not installed there")
    assert status(deployed.site())["boxes"]["spark-b"]["error"] == "spark-b: floor is not installed there"


WAYS = "; `floor restart flagship@spark-a flagship@spark-b` finishes it, `floor deploy --abort` goes back to what was "
WAYS += "deployed before"


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ("failed", "floor restart of ada@laptop, begun 1970-01-01 00:00:01 UTC, failed"),
        ("interrupted", "floor restart of ada@laptop, begun 1970-01-01 00:00:01 UTC, was interrupted"),
        ("aborted", "floor restart of ada@laptop, begun 1970-01-01 00:00:01 UTC, was aborted"),
        ("live", "abandoned by ada@laptop: floor restart, begun 1970-01-01 00:00:01 UTC"),
    ],
)
def test_an_operation_that_did_not_end_well(deployed: Situation, state: str, told: str) -> None:
    deployed.restart()
    for box in deployed.world.boxes.values():
        box.record = {**(box.record or {}), "state": state}
    deployed.world.sleep(100)
    assert f"spark-a, spark-b: {told}{WAYS}" in status(deployed.site())["warnings"]


def test_an_operation_at_work(deployed: Situation) -> None:
    left = deployed.at_each_call(Situation.restart)[6]
    site = left.site()
    told = "spark-a, spark-b: ada@laptop is at work: floor restart, operation 2, begun 1970-01-01 00:00:01 UTC"
    ASLEEP.add(left.caller.pid - 1)
    assert told in status(site)["warnings"]


def test_one_whose_process_died_is_abandoned_at_once(deployed: Situation) -> None:
    """Only its own user on its own machine can tell."""
    left = deployed.at_each_call(Situation.restart)[6]
    began = "begun 1970-01-01 00:00:01 UTC"
    assert f"spark-a, spark-b: abandoned by ada@laptop: floor restart, {began}{WAYS}" in status(left.site())["warnings"]


def test_processes_that_outlived_their_unit(deployed: Situation) -> None:
    box = deployed.box("spark-b")
    box.lose(UNIT)
    box.left[UNIT] = [412, 413]
    found = status(deployed.site())["warnings"]
    assert "flagship@spark-b: processes that outlived their unit hold on: pids 412, 413" in found


def test_a_pool_that_does_not_run(deployed: Situation) -> None:
    deployed.box("spark-b").lose("floor-pool.service")
    found = status(deployed.site())["warnings"]
    assert found == ["spark-b: floor-pool is inactive: what its pool says is old, and nobody changes it"]


def test_a_box_that_is_not_managed(deployed: Situation) -> None:
    deployed.edit("models:", "  mac: {host: 192.0.2.20, managed: false}\nmodels:")
    assert status(deployed.site())["boxes"]["mac"] == {"managed": False, "host": "192.0.2.20"}


def test_who_drained_it_is_told_by_every_pool(deployed: Situation) -> None:
    drain = {"backend": "flagship@spark-b", "holder": "ada@laptop", "epoch": None, "last": False}
    deployed.box("spark-b").calls.answer("drain.add", drain)
    deployed.world.sleep(2)
    entry = status(deployed.site())["backends"][1]
    assert entry["drains"] == ["ada@laptop"]
    assert entry["member"] == {"spark-a": True, "spark-b": False}


def test_what_guard_and_watchdog_want_a_person_to_know(deployed: Situation) -> None:
    deployed.box("spark-b").alarms = ["flagship@spark-b: declined: its start would stop vllm-split.service (active)"]
    found = status(deployed.site())
    assert found["boxes"]["spark-b"]["alarms"] == deployed.box("spark-b").alarms
    told = "spark-b: flagship@spark-b: declined: its start would stop vllm-split.service (active)"
    assert found["warnings"] == [told]
