"""`floor calibrate`: out of every pool and back whatever happens, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from floor.errors import BoxError, FloorError, RefusedError, UsageError
from floor.layout.weights import computed
from floor.operations import calibrate, layout_look
from floor.operations.calibrate import Calibration, Works
from tests.simulated.caller import Caller, KilledError
from tests.simulated.situation import TWO_BOXES, Situation
from tests.unit.layout.models import config, published

NAME = "flagship@spark-a"
WORK = Works((64, 1024), (4,), 32)


def measure(situation: Situation, name: str = NAME, work: Works = WORK, *, force: bool = False) -> Calibration:
    site = situation.site()
    return calibrate.calibrate(
        site, calibrate.find(site, name), work, situation.said.append, situation.progress.append, force=force
    )


def whole(situation: Situation) -> bool:
    """Nobody is drained anywhere, and both copies are in both pools."""
    situation.world.sleep(5)
    held = [box.live_drains() for box in situation.world.boxes.values()]
    return not any(held) and all(len(members) == 2 for members in situation.members())


def test_it_is_out_of_every_pool_while_it_is_measured_and_its_box_keeps_the_figures(deployed: Situation) -> None:
    seen: list[list[set[str]]] = []
    line = deployed.box("spark-a").calls.calibrate_measure

    def watched(params: dict[str, Any]) -> Any:
        seen.append(deployed.members())
        return line(params)

    deployed.box("spark-a").calls.calibrate_measure = watched  # type: ignore[method-assign]
    found = measure(deployed)
    assert seen == [[{"flagship@spark-b"}] * 2] * 9  # three measurements, three tries each
    assert [(point.at_once, point.prompt) for point in found.points] == [(1, 64), (1, 1024), (4, 64)]
    kept = deployed.box("spark-a").calibrations[NAME]
    assert kept["launch"] == found.launch == deployed.box("spark-a").processes["floor-copy-flagship.service"].digest
    assert kept["utilization"] == 0.4
    assert len(kept["points"]) == 3
    assert whole(deployed)
    assert deployed.world.wrong == []
    assert deployed.starts("spark-a") == 1
    told = [event["text"] for event in deployed.box("spark-a").events]
    assert f"took {NAME} out of the pool to measure it" in told
    assert f"measured {NAME}" in told


def test_no_prompt_is_sent_twice(deployed: Situation) -> None:
    seeds: list[int] = []
    line = deployed.box("spark-a").calls.calibrate_measure

    def watched(params: dict[str, Any]) -> Any:
        seeds.append(params["seed"])
        return line(params)

    deployed.box("spark-a").calls.calibrate_measure = watched  # type: ignore[method-assign]
    measure(deployed)
    measure(deployed)
    assert len(set(seeds)) == len(seeds) == 18


def test_the_last_member_needs_force(deployed: Situation) -> None:
    deployed.text = deployed.text.replace("replicas: [spark-a, spark-b]", "replicas: [spark-a]")
    deployed.deploy(force=True)
    with pytest.raises(RefusedError, match=f"{NAME} is the only member of flagship's pool"):
        measure(deployed)
    deployed.world.sleep(5)
    assert deployed.members() == [{NAME}] * 2
    assert measure(deployed, force=True).points


def test_one_that_was_drained_by_a_person_stays_drained(deployed: Situation) -> None:
    from floor.operations import drain

    site = deployed.site()
    drain.drain(site, drain.find(site, NAME), print, last=False)
    assert measure(deployed).points
    deployed.world.sleep(5)
    assert deployed.members() == [{"flagship@spark-b"}] * 2


def test_a_measurement_that_fails_lets_it_in_again_and_keeps_nothing(
    deployed: Situation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_params: dict[str, Any]) -> Any:
        raise BoxError("spark-a: flagship@spark-a: a stream broke off; the engine's log says why")

    monkeypatch.setattr(deployed.box("spark-a").calls, "calibrate_measure", fails)
    with pytest.raises(BoxError, match="broke off"):
        measure(deployed)
    assert whole(deployed)
    assert deployed.box("spark-a").calibrations == {}
    assert not deployed.deploy()  # nothing was left to go on with


def test_who_measures_is_killed_at_any_call_and_the_pool_has_it_again_within_the_lease(deployed: Situation) -> None:
    measure(deployed)
    many = len(deployed.caller.asked)
    for at in range(1, many + 1, 3):
        deployed.fate = Caller(0, at, then=lambda _box: deployed.caller.kill())
        with pytest.raises(KilledError):
            measure(deployed)
        deployed.world.sleep(120)
        assert whole(deployed), at
        outcome = deployed.deploy_all()
        assert not outcome.changed, at
        assert not outcome.plan, at
    assert measure(deployed).points


def test_one_that_goes_on_working_is_not_measured(deployed: Situation, monkeypatch: pytest.MonkeyPatch) -> None:
    busy = {"idle": False, "running": 2, "waiting": 0, "reason": ""}
    monkeypatch.setattr(deployed.box("spark-a").calls, "engine_idle", lambda _: busy)
    with pytest.raises(FloorError, match="still works on 2 requests after 1800 s, though no pool has it; who asks it"):
        measure(deployed)
    assert whole(deployed)


def test_a_box_that_is_away(deployed: Situation) -> None:
    deployed.box("spark-b").up = False
    with pytest.raises(BoxError, match="its pool might still send requests meanwhile; nothing was measured"):
        measure(deployed)


def test_one_that_does_not_run(deployed: Situation) -> None:
    deployed.box("spark-a").stop("floor-copy-flagship.service")
    deployed.world.sleep(60)
    with pytest.raises(FloorError, match=f"{NAME}: is inactive; only what serves can be measured"):
        measure(deployed)


def test_one_that_runs_with_other_settings_than_the_file_has(deployed: Situation) -> None:
    deployed.edit("max_requests: 12", "max_requests: 8")
    with pytest.raises(RefusedError, match=r"runs with other settings than floor.yaml has; `floor deploy` comes first"):
        measure(deployed)
    assert whole(deployed)


def test_another_operation_that_was_left_comes_first(deployed: Situation) -> None:
    deployed.edit("max_requests: 12", "max_requests: 8")
    deployed.fate = Caller(0, 40, then=lambda _box: deployed.caller.kill())
    with pytest.raises(KilledError):
        deployed.deploy()
    for seconds in (0, 200):  # its lease runs still, and has run out
        deployed.world.sleep(seconds)
        with pytest.raises(RefusedError, match="was left unfinished; `floor deploy` ends it"):
            measure(deployed)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("    source:", "    task: embed\n    source:", "answers in vectors; only what generates is measured"),
        ("11}", "11, managed: false}", "floor does not manage it"),
    ],
)
def test_what_cannot_be_measured(situation: Situation, old: str, new: str, told: str) -> None:
    situation.text = TWO_BOXES.replace(old, new, 1).replace("boxes: [spark-a, spark-b]", "boxes: [spark-b]")
    with pytest.raises(UsageError, match=told):
        calibrate.find(situation.site(), NAME)


def test_what_is_measured_by_itself(situation: Situation) -> None:
    situation.edit("    max_requests", "    context: 32768\n    max_requests")
    copy = calibrate.find(situation.site(), NAME)
    assert calibrate.works(copy) == Works((1024, 4096, 16384), (2, 4, 8, 12), 96)
    assert list(Works((64, 512), (1, 4), 8).each()) == [(1, 64), (1, 512), (4, 64)]


def test_a_backend_whose_context_the_file_does_not_say_is_measured_within_what_it_logged(deployed: Situation) -> None:
    site = deployed.site()
    copy = calibrate.find(site, NAME)
    assert copy.context is None
    deployed.box("spark-a").logged = {"context": 2048}
    logged = calibrate.logged_context(site, copy)
    found = calibrate.works(copy, logged=logged)
    assert found.depths == (64, 256, 1024)
    assert found.depths[-1] + found.answer <= 2048
    deployed.box("spark-a").up = False
    assert calibrate.logged_context(site, copy) is None


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"depths": (9000,)}, "found 9000 tokens and 96 more; it takes requests of 8192 in all"),
        ({"at_once": (64,)}, "found 64 requests at once; it takes 12"),
    ],
)
def test_more_than_it_takes(situation: Situation, said: dict[str, Any], told: str) -> None:
    copy = calibrate.find(situation.site(), NAME)
    with pytest.raises(UsageError, match=told):
        calibrate.works(copy, **said)


def test_the_cache_of_the_log_is_held_against_the_rules(deployed: Situation) -> None:
    """2 heads of 128 in 36 layers, 8 GiB: by the rules of floor.layout.cache."""
    shape = published("qwen3-embedding-0.6b")
    weights = computed(shape, 16)
    tensors = {f"model.layers.{n}.mlp.weight": int(size) for n, size in enumerate(weights.dense)}
    box = deployed.box("spark-a")
    box.headers = {"/models/flagship": {"config": config("qwen3-embedding-0.6b"), "tensors": tensors, "gguf": False}}
    box.logged = {"available": 8.0}
    found = measure(deployed)
    want = layout_look.model("flagship", box.headers["/models/flagship"], "here")
    per_token = len(shape.layers) * 2 * 8 * 128 * 2
    assert want.shape.layers == shape.layers
    assert found.computed == pytest.approx(8 * 2**30 / per_token, rel=0.001)
    assert found.as_json()["cache"] == {"logged": None, "computed": found.computed, "why": ""}


def test_where_the_cache_cannot_be_computed_it_is_said_why(deployed: Situation) -> None:
    assert measure(deployed).why == "its log tells no bytes of the cache"
    deployed.box("spark-a").logged = {"available": 8.0}
    assert "/models/flagship: not there" in measure(deployed).why
