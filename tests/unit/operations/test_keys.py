"""The keys that all boxes share: made once, carried to who lacks them, and read again by whoever knew others."""

from __future__ import annotations

import pytest

from floor.errors import FloorError, RefusedError
from tests.simulated.situation import ONE_BOX, THREE_BOXES, TWO_BOXES, Situation

BOTH = {"flagship@spark-a", "flagship@spark-b"}


def keys(situation: Situation) -> set[str]:
    return {box.secrets[0] for box in situation.world.boxes.values() if box.secrets}


def test_the_first_proxy_box_makes_them_and_every_box_gets_them(situation: Situation) -> None:
    situation.text = THREE_BOXES.replace("proxy: {boxes: [spark-a, spark-b]}", "proxy: {boxes: [spark-b]}")
    situation.deploy()
    assert len(keys(situation)) == 1
    assert next(iter(keys(situation))).startswith("the-engine-key-of-spark-b")
    assert all(box.secrets for box in situation.world.boxes.values())


def test_a_box_that_joins_gets_the_keys_that_there_are(deployed: Situation) -> None:
    before = keys(deployed)
    deployed.text = THREE_BOXES.replace("replicas: [spark-a, spark-b]", "replicas: [spark-a, spark-b, spark-c]")
    deployed.deploy()
    assert keys(deployed) == before
    assert (deployed.starts("spark-a"), deployed.starts("spark-b")) == (1, 1)
    assert deployed.world.answering("spark-a") == {*BOTH, "flagship@spark-c"}


def test_a_box_with_other_keys_gets_those_of_the_first_and_all_that_knew_them_reads_again(deployed: Situation) -> None:
    """Its secrets were removed by hand, or it came from another deployment."""
    box = deployed.box("spark-b")
    box.secrets = ("other", 0.0)
    for process in box.processes.values():
        process.key = "other"
    deployed.world.sleep(3)
    assert deployed.members() == [{"flagship@spark-a"}, {"flagship@spark-b"}]  # each proxy box reaches only its own
    _, plan = deployed.deployment().look()
    shown = {step.why for stage in plan.stages for step in stage.steps if step.box == "spark-b"}
    assert {"the engine key becomes another", "it must read the keys again"} <= shown
    assert not plan.outage
    found: list[int] = []
    deployed.world.watch = lambda: found.append(len(deployed.world.answering("spark-a")))
    deployed.deploy()
    assert len(keys(deployed)) == 1
    assert min(found) >= 1
    assert deployed.starts("spark-a") == 1
    assert deployed.starts("spark-b") == 2
    assert {deployed.starts("spark-b", f"floor-{name}.service") for name in ("pool", "agent")} == {2}
    assert [deployed.world.answering(proxy) for proxy in deployed.world.boxes] == [BOTH, BOTH]
    assert not deployed.deploy()


def test_what_a_newer_floor_makes_of_them_is_made_and_nothing_restarts(deployed: Situation) -> None:
    for box in deployed.world.boxes.values():
        box.keyring.complete = False
    before = keys(deployed)
    _, plan = deployed.deployment().look()
    assert [(stage.title, [step.why for step in stage.steps]) for stage in plan.stages] == [
        ("share the keys", ["a file that is made from them is missing"] * 2)
    ]
    deployed.deploy()
    assert keys(deployed) == before
    assert (deployed.starts("spark-a"), deployed.starts("spark-b")) == (1, 1)
    assert not deployed.deploy()


def test_killed_between_the_keys_and_what_reads_them_the_rest_is_done(deployed: Situation) -> None:
    """What runs is older than the key that lies there: that is seen, not remembered."""
    box = deployed.box("spark-b")
    box.secrets = ("other", deployed.world.now)
    for process in box.processes.values():
        process.key = "other"
    deployed.world.sleep(3)
    for left in deployed.at_each_call(Situation.deploy):
        left.world.sleep(100)
        left.deploy()
        left.world.sleep(3)
        assert [left.world.answering(proxy) for proxy in left.world.boxes] == [BOTH, BOTH]
        assert left.starts("spark-a") == 1
        assert not left.deploy()


def test_new_keys_everywhere_are_an_outage_that_has_to_be_accepted(deployed: Situation) -> None:
    """All keys were removed: every engine that runs knows only the old one."""
    for box in deployed.world.boxes.values():
        box.secrets = None
    with pytest.raises(RefusedError, match="last serving copy of flagship"):
        deployed.deploy()
    assert keys(deployed) == set()
    deployed.deploy(force=True)
    assert len(keys(deployed)) == 1
    assert [deployed.world.answering(proxy) for proxy in deployed.world.boxes] == [BOTH, BOTH]
    assert not deployed.deploy()


def test_no_keys_are_made_while_a_box_that_may_have_some_is_away(situation: Situation) -> None:
    """The first box has some; a second one is added to floor.yaml while the first does not answer."""
    situation.text = ONE_BOX
    situation.deploy()
    situation.text = TWO_BOXES
    situation.box("spark-a").up = False
    with pytest.raises(FloorError) as caught:
        situation.deploy()
    assert str(caught.value) == (
        "nothing was changed:\n  spark-b: has no keys yet, and spark-a does not answer, which may have some; deploy "
        "once it answers, or add --force where it has none"
    )
    assert situation.deploy(force=True)
