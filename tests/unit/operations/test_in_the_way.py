"""A copy that cannot start beside one that is to go: the old one goes first, one box after the other."""

from __future__ import annotations

import pytest

from floor.errors import RefusedError
from tests.simulated.situation import THREE_BOXES, TWO_BOXES, Situation

SMALL = TWO_BOXES.replace("utilization: 0.4", "utilization: 0.3")


def stages(situation: Situation) -> list[str]:
    return [line for line in situation.said if line.startswith(("start", "retire", "change"))]


def replaced(situation: Situation, old: str, new: str) -> list[str]:
    """Deploy a file, put another model into it, deploy that; return what was done in which order."""
    situation.text = old
    situation.deploy()
    situation.said.clear()
    situation.text = new
    with pytest.raises(RefusedError, match=r"floor\.yaml no longer has flagship, which serves now"):
        situation.deploy()
    assert situation.deploy(force=True)
    assert situation.members("successor") == [{"successor@spark-a", "successor@spark-b"}] * 2
    assert situation.world.wrong == []
    return stages(situation)


def test_for_its_port(situation: Situation) -> None:
    found = replaced(situation, SMALL, SMALL.replace("flagship:", "successor:"))
    assert found == [
        "retire flagship@spark-a",
        "start successor",
        "retire flagship@spark-b",
        "change successor@spark-b",
    ]


def test_for_its_memory(situation: Situation) -> None:
    large = TWO_BOXES.replace("utilization: 0.4", "utilization: 0.6")
    found = replaced(
        situation, large, large.replace("flagship:", "successor:").replace("    max", "    port: 8009\n    max")
    )
    assert found == [
        "retire flagship@spark-a",
        "start successor",
        "retire flagship@spark-b",
        "change successor@spark-b",
    ]


def test_beside_each_other_the_new_ones_serve_first(situation: Situation) -> None:
    new = SMALL.replace("flagship:", "successor:").replace("    max", "    port: 8009\n    max")
    assert replaced(situation, SMALL, new) == ["start successor", "retire flagship@spark-a", "retire flagship@spark-b"]


def test_a_copy_that_moves_does_not_go_before_its_successor_serves(situation: Situation) -> None:
    """Nothing hinders it on another box."""
    situation.text = THREE_BOXES.replace("utilization: 0.4", "utilization: 0.9")
    situation.deploy()
    situation.said.clear()
    situation.edit("replicas: [spark-a, spark-b]", "replicas: [spark-a, spark-c]")
    situation.deploy()
    assert stages(situation) == ["change flagship@spark-c", "retire flagship@spark-b"]
