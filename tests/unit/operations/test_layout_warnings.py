"""What a deployment says of the layout that it is about to bring about."""

from __future__ import annotations

from floor.layout.weights import computed
from tests.simulated.situation import Situation
from tests.unit.layout.models import config, published

ROOM = "flagship@spark-a: no request of "


def _weights(situation: Situation) -> None:
    shape = published("qwen3-coder-30b")
    sizes = computed(shape, 8.5)
    tensors = {
        f"model.layers.{n}.weight": int(dense + experts)
        for n, (dense, experts) in enumerate(zip(sizes.dense, sizes.experts, strict=True))
    }
    situation.site()  # its boxes are there then
    told = {"config": config("qwen3-coder-30b"), "tensors": tensors, "gguf": False}
    for box in situation.world.boxes.values():
        box.headers = {"/models/flagship": told}


def test_a_share_that_holds_no_request_is_a_note_of_the_plan(situation: Situation) -> None:
    situation.edit("utilization: 0.4", "utilization: 0.01")
    _weights(situation)
    planned = situation.deploy_all(dry_run=True)
    assert [note for note in planned.plan.notes if note.startswith(ROOM)]
    situation.deploy_all()
    assert any(line.startswith(f"note: {ROOM}") for line in situation.said)
    assert situation.deploy_all().plan.notes == ()  # nothing starts, so nothing is asked


def test_nothing_is_said_where_all_is_well_or_nothing_can_be_read(situation: Situation) -> None:
    situation.edit("    max_requests", "    context: 32768\n    max_requests")
    situation.deploy_all()
    situation.edit("max_requests: 12", "max_requests: 8")
    _weights(situation)
    assert not any("no request of" in note for note in situation.deploy_all(dry_run=True).plan.notes)
    assert not any("no request of" in line for line in situation.said)


def test_a_box_that_is_away_ends_no_deployment(situation: Situation) -> None:
    situation.edit("utilization: 0.4", "utilization: 0.01")
    _weights(situation)
    situation.box("spark-b").up = False
    assert not any("no request of" in note for note in situation.deploy_all(dry_run=True).plan.notes)
