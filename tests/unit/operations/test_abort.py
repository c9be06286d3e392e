"""`floor deploy --abort`: ends an operation that was left, and brings back what was deployed before it."""

from __future__ import annotations

import copy

import pytest

from floor.errors import BusyError, RefusedError
from floor.operations import drain
from tests.simulated.situation import ASLEEP, ONE_BOX, THREE_BOXES, TWO_BOXES, Situation

UNIT = "floor-copy-flagship.service"
BOTH = {"flagship@spark-a", "flagship@spark-b"}


def killed(situation: Situation, call: str, box: str = "spark-b") -> Situation:
    """A deployment that was killed after a certain call."""
    situation.world.log.clear()
    whole = situation.at_each_call(lambda one: one.deploy_all().changed)
    left = next(one for one in whole if f"{box} {call}" in one.world.log)
    left.said.clear()
    return left


def flag(situation: Situation, box: str) -> str:
    process = situation.box(box).processes[UNIT]
    return process.argv[process.argv.index("--max-num-seqs") + 1]


def test_a_deployment_that_died_is_taken_back(deployed: Situation) -> None:
    deployed.edit("max_requests: 12", "max_requests: 13")
    left = killed(deployed, "unit.stop")
    assert flag(left, "spark-a") == "13"
    outcome = left.abort()
    assert (outcome.changed, outcome.complete) == (True, True)
    assert left.said[0] == "ends operation 2, floor deploy of ada@laptop, and goes back to what was deployed before it"
    assert left.said[-1] == "floor.yaml is as it was: `floor deploy` would bring it to the boxes again"
    assert (flag(left, "spark-a"), flag(left, "spark-b")) == ("12", "12")
    assert (left.starts("spark-a"), left.starts("spark-b")) == (3, 2)
    assert left.members() == [BOTH, BOTH]
    assert {box.record["verb"] for box in left.world.boxes.values() if box.record} == {"deploy --abort"}
    assert {box.config for box in left.world.boxes.values()} == {TWO_BOXES}
    with pytest.raises(
        RefusedError, match="nothing was left unfinished: the last operation on these boxes is done; to"
    ):
        left.abort()
    assert left.deploy()  # the file that was given up is no older one


def test_one_that_had_recorded_its_file_on_one_box_is_taken_back_too(deployed: Situation) -> None:
    deployed.edit("max_requests: 12", "max_requests: 13")
    left = killed(deployed, "config.put", "spark-a")
    assert [box.config == TWO_BOXES for box in left.world.boxes.values()] == [False, True]
    assert left.abort().complete
    assert (flag(left, "spark-a"), flag(left, "spark-b")) == ("12", "12")


def test_a_restart_that_died_is_ended_and_all_serve(deployed: Situation) -> None:
    deployed.world.log.clear()
    left = next(one for one in deployed.at_each_call(Situation.restart) if "spark-a unit.stop" in one.world.log)
    left.world.sleep(100)
    assert left.abort().complete
    assert left.members() == [BOTH, BOTH]
    assert left.starts("spark-b") == 1
    assert left.restart()  # and the next one is a new one
    assert left.starts("spark-b") == 2


def test_a_box_that_was_being_added_is_empty_again(situation: Situation) -> None:
    situation.text = TWO_BOXES
    situation.deploy()
    situation.text = THREE_BOXES.replace("replicas: [spark-a, spark-b]", "replicas: [spark-a, spark-b, spark-c]")
    left = killed(situation, "unit.start", "spark-c")
    assert left.abort().complete
    assert not {UNIT} & set(left.box("spark-c").processes)
    assert left.members() == [BOTH, BOTH]


def test_a_box_that_was_being_given_up_is_reached_all_the_same(situation: Situation) -> None:
    situation.text = TWO_BOXES
    situation.deploy()
    situation.text = ONE_BOX
    left = killed(situation, "files.put", "spark-a")
    assert left.abort().complete
    assert left.members("flagship") == [BOTH]


@pytest.mark.parametrize(("call", "box"), [("files.put", "spark-b"), ("config.put", "spark-a")])
def test_a_first_deployment_has_nothing_to_go_back_to(situation: Situation, call: str, box: str) -> None:
    left = killed(situation, call, box)
    with pytest.raises(RefusedError) as caught:
        left.abort()
    assert str(caught.value) == (
        "floor deploy of ada@laptop was the first on these boxes: there is nothing to go back to; "
        "`floor deploy` finishes it, `floor remove BOX` takes away what it has begun"
    )


def test_one_that_is_at_work_is_not_ended(deployed: Situation) -> None:
    deployed.world.log.clear()
    left = next(one for one in deployed.at_each_call(Situation.restart) if "spark-a unit.stop" in one.world.log)
    ASLEEP.add(left.caller.pid)
    with pytest.raises(
        BusyError, match=r"ada@laptop \(pid \d+\) is at work: floor restart, operation 2; end that proc"
    ):
        left.abort()


def test_a_dry_run_shows_the_way_back(deployed: Situation) -> None:
    deployed.edit("max_requests: 12", "max_requests: 13")
    left = killed(deployed, "unit.stop")
    outcome = left.abort(dry_run=True)
    assert [stage.title for stage in outcome.plan.stages] == ["change flagship@spark-b", "change flagship@spark-a"]
    assert not outcome.changed


def test_a_file_that_this_release_cannot_read_is_not_gone_back_to(deployed: Situation) -> None:
    deployed.edit("max_requests: 12", "max_requests: 13")
    left = killed(deployed, "unit.stop")
    for box in left.world.boxes.values():
        box.config = "nonsense: 1\n"
    with pytest.raises(
        RefusedError, match=r"(?s)the floor.yaml that the boxes keep:1\): .*\nthis release cannot go back"
    ):
        left.abort()


def test_another_deployment_is_told_what_it_takes_over(deployed: Situation) -> None:
    deployed.edit("max_requests: 12", "max_requests: 13")
    left = killed(deployed, "unit.stop")
    other = copy.deepcopy(left)
    left.deploy_all()
    assert "note: goes on with operation 2, floor deploy of ada@laptop, which did not end" in left.said
    other.edit("max_requests: 13", "max_requests: 14")
    other.deploy_all()
    assert (
        "note: takes over from operation 2, floor deploy of ada@laptop, which did not end with another floor.yaml: "
        "what it had begun becomes what floor.yaml says"
    ) in other.said


def test_a_person_s_drain_stays(deployed: Situation) -> None:
    deployed.edit("max_requests: 12", "max_requests: 13")
    site = deployed.site()
    drain.drain(site, drain.find(site, "spark-b"), deployed.said.append, last=False)
    deployed.world.log.clear()
    left = next(
        one for one in deployed.at_each_call(lambda one: one.deploy(force=True)) if "spark-b unit.stop" in one.world.log
    )
    left.abort(force=True)
    assert left.members() == [{"flagship@spark-a"}] * 2
