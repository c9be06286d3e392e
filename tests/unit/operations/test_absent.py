"""Boxes that do not answer: named, kept out of the pools, and reconciled before they may serve again."""

from __future__ import annotations

import pytest

from floor.errors import BusyError, RefusedError
from tests.simulated.situation import TWO_BOXES, Situation

UNIT = "floor-copy-flagship.service"
BOTH = {"flagship@spark-a", "flagship@spark-b"}


def test_an_absent_box_is_kept_out_and_comes_back_reconciled(deployed: Situation) -> None:
    deployed.box("spark-b").up = False
    deployed.edit("max_requests: 12", "max_requests: 8")
    with pytest.raises(RefusedError):
        deployed.deploy()  # the one copy that is left would go
    deployed.deploy(force=True)
    deployed.box("spark-b").up = True
    deployed.world.sleep(3)
    assert deployed.world.members("spark-a") == {"flagship@spark-a"}
    assert deployed.deploy()
    assert deployed.members() == [BOTH, BOTH]
    assert deployed.starts("spark-b") == 2
    assert not deployed.box("spark-a").live_drains()
    assert not deployed.deploy()


def test_one_that_comes_back_as_wanted_is_let_in_and_waited_for(deployed: Situation) -> None:
    """Nothing of it has changed; its drain goes, and the pools have it before anything else may happen."""
    deployed.box("spark-b").up = False
    outcome = deployed.deploy_all()
    assert (outcome.changed, outcome.complete) == (True, False)
    deployed.box("spark-b").up = True
    deployed.said.clear()
    assert deployed.deploy()
    assert "let in flagship@spark-b" in deployed.said
    assert "  spark-a: flagship@spark-b may come back   [spark-b answers and is as wanted]" in deployed.said
    assert deployed.members() == [BOTH, BOTH]
    assert deployed.starts("spark-b") == 1


def test_it_comes_back_in_the_same_command_that_changes_the_others(deployed: Situation) -> None:
    deployed.box("spark-b").up = False
    deployed.deploy()
    deployed.box("spark-b").up = True
    deployed.edit("max_requests: 12", "max_requests: 8")
    world = deployed.world
    found: list[int] = []
    world.watch = lambda: found.append(len(world.answering("spark-a")))
    assert deployed.deploy()
    assert min(found) >= 1
    assert deployed.members() == [BOTH, BOTH]


def test_one_that_is_kept_out_is_not_waited_for(deployed: Situation) -> None:
    deployed.box("spark-b").up = False
    began = deployed.world.now
    outcome = deployed.deploy_all()
    told = "flagship@spark-b is kept out of the pool: spark-b missed a deployment; deploy again once it answers"
    assert f"FAILED  spark-a: {told}" in deployed.said
    assert not outcome.complete
    assert deployed.world.now - began < 30


def test_an_absent_box_is_never_nothing_to_do(deployed: Situation) -> None:
    deployed.box("spark-b").up = False
    deployed.deploy()
    outcome = deployed.deploy_all()
    assert (outcome.changed, outcome.complete) == (False, False)
    assert outcome.lines() == ["note: left as it is: spark-b: no way there", "nothing to do on the boxes that answer"]


def test_the_last_one_that_serves_is_not_kept_out_because_ssh_fails(deployed: Situation) -> None:
    """Its copy answers clients all the while."""
    deployed.box("spark-a").lose(UNIT)
    deployed.box("spark-a").enabled.discard(UNIT)
    deployed.world.sleep(2)
    deployed.box("spark-b").refuses = None
    real = deployed.box("spark-b").call

    def no_ssh(*_given: object, **_named: object) -> object:
        from floor.apply.transport import UnreachableError

        raise UnreachableError("spark-b: no way there")

    deployed.box("spark-b").call = no_ssh  # type: ignore[method-assign,assignment] # ssh alone is gone
    with pytest.raises(RefusedError, match="last serving copy of flagship"):
        deployed.deploy()
    assert deployed.world.answering("spark-a") == {"flagship@spark-b"}
    deployed.box("spark-b").call = real  # type: ignore[method-assign]
    assert deployed.deploy()
    assert deployed.members() == [BOTH, BOTH]


def test_one_that_answers_in_the_middle_stays_as_it_is_until_the_next_command(deployed: Situation) -> None:
    """It holds no epoch."""
    deployed.box("spark-b").up = False
    deployed.edit("max_requests: 12", "max_requests: 8")
    world = deployed.world
    world.calls, world.at = 0, 12
    world.then = lambda _box: setattr(world.boxes["spark-b"], "up", True)
    outcome = deployed.deploy_all(force=True)
    assert not outcome.complete
    assert deployed.starts("spark-b") == 1
    world.at = None
    assert deployed.deploy()
    assert deployed.members() == [BOTH, BOTH]
    assert deployed.starts("spark-b") == 2


def test_somebody_else_at_work_is_named(deployed: Situation) -> None:
    deployed.box("spark-a").calls.answer(
        "operation.take",
        {
            "epoch": 99,
            "verb": "restart",
            "target": None,
            "config": "",
            "takeover": None,
            "by": {"user": "ada", "host": "other", "pid": 7, "started": 1.0},
            "lease": 90,
        },
    )
    deployed.text = TWO_BOXES.replace("max_requests: 12", "max_requests: 8")
    with pytest.raises(BusyError, match=r"ada@other \(pid 7\) is at work there: floor restart, operation 99"):
        deployed.deploy()
