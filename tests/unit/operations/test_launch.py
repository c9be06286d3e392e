"""An engine whose user could not start it is found before the old copy stops."""

from __future__ import annotations

import pytest

from floor.errors import FloorError
from tests.simulated.situation import TWO_BOXES, Situation

NATIVE = TWO_BOXES.replace(
    '{kind: docker, image: "registry.example/vllm:v1"}', "{kind: native, command: /opt/vllm/bin/vllm}"
)


def test_weights_that_the_user_cannot_read_stop_a_deployment_before_it_begins(situation: Situation) -> None:
    situation.text = NATIVE
    situation.deploy()
    situation.world.boxes["spark-b"].unreadable = True
    situation.text = NATIVE.replace("max_requests: 12", "max_requests: 8")
    before = situation.starts("spark-a")
    with pytest.raises(FloorError, match=r"nothing was changed:\n  spark-b: user floor cannot read /models/flagship"):
        situation.deploy()
    assert situation.starts("spark-a") == before


def test_a_container_is_not_asked_about(situation: Situation) -> None:
    situation.text = TWO_BOXES
    situation.deploy()
    assert not any("launch.check" in line for line in situation.world.log)


def test_a_start_that_would_fail_is_told_before_the_old_copy_stops(deployed: Situation) -> None:
    deployed.box("spark-b").trial_says = "vllm: error: unrecognized arguments: --nope"
    deployed.edit("max_requests: 12", "max_requests: 8")
    with pytest.raises(FloorError) as caught:
        deployed.deploy()
    assert str(caught.value) == (
        "nothing was changed:\n"
        "  spark-b: flagship@spark-b: it would not start: vllm: error: unrecognized arguments: --nope"
    )
    assert (deployed.starts("spark-a"), deployed.starts("spark-b")) == (1, 1)


def test_a_restart_is_tried_first_too(deployed: Situation) -> None:
    deployed.box("spark-a").trial_says = "no GPU"
    with pytest.raises(FloorError, match="spark-a: flagship@spark-a: it would not start: no GPU"):
        deployed.restart("spark-a")
    assert deployed.starts("spark-a") == 1


def test_force_goes_on_and_says_so(deployed: Situation) -> None:
    deployed.box("spark-a").trial_says = "no GPU"
    assert deployed.restart("spark-a", force=True)
    assert "note: spark-a: flagship@spark-a: it would not start: no GPU; going on as --force asks" in deployed.said


def test_only_what_is_started_is_tried(deployed: Situation) -> None:
    deployed.box("spark-a").trial_says = "no GPU"
    deployed.edit("replicas: [spark-a, spark-b]", "replicas: [{box: spark-a, weight: 2}, spark-b]")
    assert deployed.deploy()
