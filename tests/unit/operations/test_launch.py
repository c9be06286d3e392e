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
