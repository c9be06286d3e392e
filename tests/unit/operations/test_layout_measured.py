"""What a backend told of itself, a copy or a group, and of which build."""

from __future__ import annotations

from typing import Any

import pytest

from floor.config import parse
from floor.config.model import Config
from floor.layout.cards import GIB
from floor.operations.layout_measured import build, cut_of, measured
from tests.simulated.situation import SPLIT, TWO_BOXES
from tests.unit.layout.fleets import want

GROUP = "flagship@spark-a+spark-b"


def _split(old: str = "", new: str = "") -> Config:
    assert old in SPLIT
    return parse(SPLIT.replace(old, new))


def _told(**more: Any) -> dict[str, Any]:
    total = int(121.7 * GIB)
    return {"memory": {"total": total, "available": total}, "gpus": [], "sources": {}, **more}


def test_a_group_tells_of_itself_by_its_head() -> None:
    config = _split()
    logged = {"launch": "d", "utilization": 0.7, "start": {"available": 40.0, "graphs_estimated": 1.0}}
    points = [{"at_once": 1, "prompt": 1024, "answer": 64, "first": 2.0, "speed": 50.0}]
    entry = {"launch": "d", "build": build(config, config.parts("flagship")[0]), "start": {}, "points": points}
    answers = {
        "spark-a": _told(logged={"floor-group-flagship.service": logged}, calibrated={GROUP: [entry]}),
        "spark-b": _told(starts={GROUP: 900.0}),
    }
    found = measured(want(kv_cache="fp8"), config, answers)
    assert set(found) == {GROUP}
    assert found[GROUP].start == 900.0
    assert found[GROUP].speeds is not None
    # 0.7 of 121.7 GiB, of which 40 were cache and half of 71 weights
    assert sum(found[GROUP].overhead.values()) == pytest.approx((0.7 * 121.7 - 40 - 35.5) * GIB, rel=0.1)


def test_the_last_measurement_of_the_build_counts_and_no_other() -> None:
    config = _split()
    own = build(config, config.copies("flagship")[0])

    def entry(made_from: str, speed: float) -> dict[str, Any]:
        points = [{"at_once": 1, "prompt": 1024, "answer": 64, "first": 2.0, "speed": speed}]
        return {"launch": "d", "build": made_from, "start": {}, "points": points}

    kept = [entry(own, 10.0), entry(own, 20.0), entry("another", 30.0)]
    found = measured(want(), config, {"spark-a": _told(calibrated={"flagship@spark-a": kept})})
    speeds = found["flagship@spark-a"].speeds
    assert speeds is not None
    assert speeds.points[0].speed == 20.0
    assert measured(want(), config, {"spark-a": _told(calibrated={"flagship@spark-a": kept[2:]})}) == {}


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("max_requests: 12", "max_requests: 8", True),
        ("utilization: 0.4", "utilization: 0.5", True),
        ("    source:", "    kv_cache: fp8\n    source:", False),
        ("    source:", "    args: {enforce-eager: true}\n    source:", False),
        ("/models/flagship", "/models/other", False),
        ("vllm:v1", "vllm:v2", False),
    ],
)
def test_what_makes_another_build(old: str, new: str, same: bool) -> None:
    before, after = _split(), _split(old, new)
    for which in (lambda config: config.copies("flagship")[0], lambda config: config.parts("flagship")[0]):
        assert (build(before, which(before)) == build(after, which(after))) is same


def test_another_cut_is_another_build_of_the_group_alone() -> None:
    before, after = _split(), _split("tensor_parallel: 2", "pipeline: [60, 40]")
    assert build(before, before.parts("flagship")[0]) != build(after, after.parts("flagship")[0])
    assert build(before, before.copies("flagship")[0]) == build(after, after.copies("flagship")[0])


def test_which_layers_a_log_tells_of() -> None:
    tensor, pipeline = _split(), _split("tensor_parallel: 2", "pipeline: [60, 40]")
    assert cut_of(tensor, tensor.copies("flagship")[0]) == (1, None)
    assert cut_of(tensor, tensor.parts("flagship")[0]) == (2, None)
    assert cut_of(pipeline, pipeline.parts("flagship")[0]) == (1, 60)
    several = _split("tensor_parallel: 2", "pipeline: [30, 30, 20, 20]")
    assert cut_of(several, several.parts("flagship")[0]) is None
    staged = parse(TWO_BOXES.replace("    source:", "    args: {pipeline-parallel-size: 2}\n    source:"))
    assert cut_of(staged, staged.copies("flagship")[0]) is None
