"""What takes the last serving copy away is refused before anything happens, and nothing takes it unasked."""

from __future__ import annotations

import pytest

from floor.box.drains import Drain
from floor.errors import BoxError, FloorError, RefusedError
from tests.simulated.situation import ONE_BOX, THREE_BOXES, TWO_BOXES, Situation

UNIT = "floor-copy-flagship.service"
BOTH = {"flagship@spark-a", "flagship@spark-b"}
SMALL = """\
  small:
    source: /models/small
    utilization: 0.4
    port: 8001
    listen: 8081
    runtime: {kind: docker, image: "registry.example/vllm:v1"}
    replicas: [spark-b]
proxy:"""


def fewest(situation: Situation, *proxies: str) -> list[int]:
    """How many answer behind each of these proxy boxes, the fewest at each moment from now on."""
    found: list[int] = []
    world = situation.world
    world.watch = lambda: found.append(min(len(world.answering(box)) for box in proxies))
    return found


def test_a_new_proxy_box_whose_pool_is_empty_does_not_make_the_copies_free_to_take(situation: Situation) -> None:
    """Two copies behind one proxy; another proxy is added together with a change of both copies."""
    situation.text = TWO_BOXES.replace("proxy: {boxes: [spark-a, spark-b]}", "proxy: {boxes: [spark-a]}")
    situation.deploy()
    found = fewest(situation, "spark-a")
    situation.text = TWO_BOXES.replace("max_requests: 12", "max_requests: 8")
    situation.deploy()
    assert min(found) == 1
    assert situation.members() == [BOTH, BOTH]


def test_a_proxy_that_moves_is_taken_away_when_the_new_one_serves(situation: Situation) -> None:
    situation.text = TWO_BOXES.replace("proxy: {boxes: [spark-a, spark-b]}", "proxy: {boxes: [spark-a]}")
    situation.deploy()
    situation.edit("proxy: {boxes: [spark-a]}", "proxy: {boxes: [spark-b]}")
    world = situation.world
    world.log.clear()
    situation.deploy()
    stop = world.log.index("spark-a unit.stop")
    assert "spark-b unit.start" in world.log[:stop]
    box = situation.box("spark-a")
    assert box.state("floor-proxy.service") == box.state("floor-pool.service") == "inactive"
    assert not [path for path in box.files if "nginx" in path or "pool" in path]
    assert world.answering("spark-b") == BOTH
    assert not situation.deploy()


def test_a_model_moves_off_a_box_before_its_target_is_taken_away(situation: Situation) -> None:
    """The target of the engines goes last: whoever stops it by name must not stop what still serves."""
    situation.text = THREE_BOXES
    situation.deploy()
    situation.edit("replicas: [spark-a, spark-b]", "replicas: [spark-a, spark-c]")
    _, plan = situation.deployment().look()
    titles = [stage.title for stage in plan.stages]
    assert titles.index("change flagship@spark-c") < titles.index("retire flagship@spark-b")
    assert titles.index("retire flagship@spark-b") < titles.index("take away services")


def test_the_only_copy_moves_without_an_outage(situation: Situation) -> None:
    situation.text = TWO_BOXES.replace("replicas: [spark-a, spark-b]", "replicas: [spark-a]")
    situation.deploy()
    found = fewest(situation, "spark-a", "spark-b")
    situation.edit("replicas: [spark-a]", "replicas: [spark-b]")
    assert situation.deploy()
    assert min(found) == 1
    assert situation.members() == [{"flagship@spark-b"}] * 2
    assert situation.world.cut == []


def test_the_only_copy_does_not_move_to_a_box_that_does_not_answer(situation: Situation) -> None:
    situation.text = THREE_BOXES.replace("replicas: [spark-a, spark-b]", "replicas: [spark-a]")
    situation.deploy()
    situation.box("spark-c").up = False
    situation.edit("replicas: [spark-a]", "replicas: [spark-c]")
    with pytest.raises(RefusedError, match="last serving copy of flagship"):
        situation.deploy()
    assert situation.box("spark-a").state(UNIT) == "active"
    assert situation.deploy(force=True)  # and then the agent does not refuse what was accepted
    assert situation.box("spark-a").state(UNIT) == "inactive"


def test_a_model_that_is_gone_from_the_file_is_retired_when_that_is_accepted(situation: Situation) -> None:
    situation.text = TWO_BOXES.replace("proxy:", SMALL)
    situation.deploy()
    situation.text = TWO_BOXES
    with pytest.raises(RefusedError, match=r"floor.yaml no longer has small, which serves now"):
        situation.deploy()
    situation.deploy(force=True)
    box = situation.box("spark-b")
    assert box.state("floor-copy-small.service") == "inactive"
    assert not [path for path in box.files if "small" in path]
    assert "floor-copy-small.service" not in box.enabled
    assert situation.starts("spark-b") == 1
    assert situation.world.cut == []
    assert not situation.deploy()


def test_a_model_that_is_gone_and_was_down_needs_no_force(situation: Situation) -> None:
    situation.text = TWO_BOXES.replace("proxy:", SMALL)
    situation.deploy()
    situation.box("spark-b").lose("floor-copy-small.service")
    situation.world.sleep(2)
    situation.text = TWO_BOXES
    assert situation.deploy()
    assert not [path for path in situation.box("spark-b").files if "small" in path]


def test_no_proxy_box_answers_and_nothing_is_stopped(situation: Situation) -> None:
    """Nobody can tell who serves, and nothing can be drained."""
    situation.text = THREE_BOXES.replace("proxy: {boxes: [spark-a, spark-b]}", "proxy: {boxes: [spark-c]}")
    situation.deploy()
    situation.box("spark-c").up = False
    situation.edit("max_requests: 12", "max_requests: 8")
    with pytest.raises(RefusedError, match="last serving copy of flagship"):
        situation.deploy()
    assert (situation.starts("spark-a"), situation.starts("spark-b")) == (1, 1)


def test_a_copy_that_a_person_drained_does_not_count_as_one_that_is_left(deployed: Situation) -> None:
    """Changing the drained one first does not make the other one free to go."""
    deployed.text = TWO_BOXES.replace("max_requests: 12", "max_requests: 8")
    for name in ("spark-a", "spark-b"):
        box = deployed.box(name)
        by_hand = {"backend": "flagship@spark-b", "holder": "ada@laptop", "epoch": None, "last": False}
        box.calls.answer("drain.add", by_hand)
    deployed.world.sleep(2)
    _, plan = deployed.deployment().look()
    assert [(stage.title, stage.outage) for stage in plan.stages if "flagship@" in stage.title] == [
        ("change flagship@spark-b", ()),
        ("change flagship@spark-a", ("flagship",)),
    ]
    assert (
        plan.notes[0]
        == "flagship@spark-b stays out of spark-a's pool: drained by ada@laptop (floor undrain flagship@spark-b)"
    )
    with pytest.raises(RefusedError):
        deployed.deploy()
    deployed.deploy(force=True)
    deployed.world.sleep(2)
    assert deployed.members() == [{"flagship@spark-a"}] * 2
    assert not deployed.deploy()


def test_a_warm_copy_that_is_not_in_the_pools_yet_is_waited_for(deployed: Situation) -> None:
    """An operation was killed with one copy changed and drained: its drain lapses, and the pool takes it back a moment
    later. The other one does not go before that, and nobody is told that it would be the last."""
    deployed.edit("max_requests: 12", "max_requests: 8")
    killed = deployed.at_each_call(Situation.deploy)
    changed = [left for left in killed if left.starts("spark-a") == 2 and left.starts("spark-b") == 1]
    left = next(left for left in changed if left.world.log[-1] == "spark-a drain.remove")
    left.world.hung.add("flagship@spark-a")
    with pytest.raises(FloorError, match=r"until flagship@spark-a is in spark-a's pool: not within 30 s: as a test"):
        left.deploy()
    assert left.starts("spark-b") == 1
    left.world.hung.clear()
    assert left.deploy()
    assert left.members() == [BOTH, BOTH]


def test_two_copies_that_are_up_and_serve_nobody_still_go_one_by_one(deployed: Situation) -> None:
    """Both pools have just lost them: that may be over in a moment."""
    deployed.world.hung |= BOTH
    deployed.world.sleep(2)
    deployed.edit("max_requests: 12", "max_requests: 8")
    _, plan = deployed.deployment().look()
    assert [stage.title for stage in plan.stages if "flagship" in stage.title] == [
        "change flagship@spark-a",
        "change flagship@spark-b",
    ]


def test_a_lapsed_drain_is_nothing_to_do(deployed: Situation) -> None:
    """What an operation left on record when it was killed does not count, and nobody has to clean it up."""
    box = deployed.box("spark-a")
    deployed.edit("max_requests: 12", "max_requests: 8")
    deployed.deploy()
    epoch = (box.record or {"epoch": 0})["epoch"]
    box.recorded = {"flagship@spark-a": (Drain("deploy by ada@laptop", epoch, 0.0),)}
    assert not deployed.deploy()


def test_one_box_with_force_is_back_as_wanted(situation: Situation) -> None:
    situation.text = ONE_BOX
    situation.deploy()
    situation.edit("max_requests: 12", "max_requests: 8")
    _, plan = situation.deployment().look()
    assert plan.outage == ("flagship",)
    assert situation.deploy(force=True)
    assert situation.members() == [{"flagship@spark-a"}]
    assert situation.world.cut == []


def test_a_box_lost_for_good_ends_the_operation_where_it_is(deployed: Situation) -> None:
    deployed.edit("max_requests: 12", "max_requests: 8")
    world = deployed.world
    world.calls, world.at = 0, 12
    world.then = lambda _box: setattr(world.boxes["spark-b"], "up", False)
    with pytest.raises(BoxError, match="lost in the middle"):
        deployed.deploy()
    assert deployed.starts("spark-b") == 1
