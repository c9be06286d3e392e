"""`floor remove`: what runs on the box is drained and stopped first, and no model goes unasked."""

from __future__ import annotations

from typing import Any

import pytest

from floor.apply.transport import NotInstalledError
from floor.errors import BoxError, RefusedError, UsageError
from floor.operations import removal
from tests.simulated.situation import ONE_BOX, THREE_BOXES, Situation

UNIT = "floor-copy-flagship.service"


def remove(situation: Situation, box: str, *, yes: bool = True, force: bool = False) -> list[tuple[str, str]]:
    """`floor remove`. Return for which box floor itself was taken off, and where."""
    taken: list[tuple[str, str]] = []

    def take_off(name: str, destination: str, **_given: Any) -> bool:
        taken.append((name, destination))
        return True

    asked = situation.progress.append
    removal.remove(
        situation.site(),
        box,
        situation.said.append,
        asked,
        lambda question: bool(situation.said.append(question)),
        yes=yes,
        purge=False,
        force=force,
        take_off=take_off,
    )
    return taken


def test_its_copies_leave_every_pool_finish_and_stop_first(deployed: Situation) -> None:
    found: list[int] = []
    deployed.world.watch = lambda: found.append(len(deployed.world.answering("spark-a")))
    assert remove(deployed, "spark-b") == [("spark-b", "spark-b")]
    assert deployed.box("spark-b").state(UNIT) == "inactive"
    assert UNIT not in deployed.box("spark-b").enabled
    assert (min(found), deployed.world.cut) == (1, [])
    assert all(box.record and box.record["state"] == "done" for box in deployed.world.boxes.values())


def test_a_box_that_runs_nothing_is_just_removed(situation: Situation) -> None:
    situation.text = THREE_BOXES
    situation.deploy()
    situation.world.log.clear()
    assert remove(situation, "spark-c") == [("spark-c", "spark-c")]
    assert {line.split()[1] for line in situation.world.log} == {"observe"}


def test_the_last_copy_is_refused_before_anything_stops(deployed: Situation) -> None:
    deployed.box("spark-a").lose(UNIT)
    deployed.world.sleep(2)
    with pytest.raises(RefusedError, match="last serving copy of flagship"):
        remove(deployed, "spark-b")
    assert deployed.box("spark-b").state(UNIT) == "active"
    assert remove(deployed, "spark-b", force=True)
    assert deployed.box("spark-b").state(UNIT) == "inactive"


def test_the_only_proxy_is_refused(situation: Situation) -> None:
    situation.text = THREE_BOXES.replace("proxy: {boxes: [spark-a, spark-b]}", "proxy: {boxes: [spark-c]}")
    situation.deploy()
    with pytest.raises(RefusedError, match="spark-c is the only proxy box: every client would lose flagship"):
        remove(situation, "spark-c")
    assert remove(situation, "spark-c", force=True)


def test_a_no_leaves_everything_as_it_is(deployed: Situation) -> None:
    assert remove(deployed, "spark-b", yes=False) == []
    assert deployed.said == ["Drain and stop all engines and services on spark-b and remove floor from it?"]
    assert deployed.box("spark-b").state(UNIT) == "active"


def test_a_box_whose_agent_does_not_answer_needs_force(deployed: Situation) -> None:
    deployed.box("spark-b").refuses = BoxError("spark-b: its floor is damaged; run `floor setup spark-b`")
    with pytest.raises(RefusedError, match=r"spark-b: its floor is damaged.*\nwhat runs on spark-b cannot be drained"):
        remove(deployed, "spark-b")
    assert remove(deployed, "spark-b", force=True) == [("spark-b", "spark-b")]
    assert deployed.said[-1].startswith("spark-b: nothing is drained first: spark-b: its floor is damaged")


def test_a_box_that_does_not_answer_needs_force(deployed: Situation) -> None:
    deployed.box("spark-b").up = False
    with pytest.raises(RefusedError, match="spark-b: no way there\nwhat runs on spark-b cannot be drained first"):
        remove(deployed, "spark-b")


def test_a_single_box(situation: Situation) -> None:
    situation.text = ONE_BOX
    situation.deploy()
    with pytest.raises(RefusedError):
        remove(situation, "spark-a")
    assert remove(situation, "spark-a", force=True)


@pytest.mark.parametrize(
    ("box", "told"),
    [("mars", "mars: no such box in floor.yaml; there are spark-a, spark-b"), ("mac", "mac: has `managed: false`")],
)
def test_only_boxes_that_floor_manages(situation: Situation, box: str, told: str) -> None:
    if box == "mac":
        situation.edit("models:", "  mac: {host: 192.0.2.20, managed: false}\nmodels:")
    with pytest.raises(UsageError, match=told):
        removal.destination(situation.site().loaded.config, box)


def test_where_a_box_is_reached(situation: Situation) -> None:
    situation.edit("{host: 192.0.2.11}", "{host: 192.0.2.11, ssh: ops@spark-a.lan}")
    assert removal.destination(situation.site().loaded.config, "spark-a") == "ops@spark-a.lan"


def test_one_that_floor_was_removed_from_already_needs_no_force(deployed: Situation) -> None:
    """What it keeps may still have to go (--purge)."""
    deployed.box("spark-b").refuses = NotInstalledError(
        "spark-b: floor is not installed there; run `floor setup spark-b`"
    )
    assert remove(deployed, "spark-b") == [("spark-b", "spark-b")]
    assert deployed.said[-1] == "spark-b: floor is not installed there: nothing has to be drained first"
