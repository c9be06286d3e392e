"""Deployments on boxes in memory: what they change, in which order, and what they leave alone."""

from __future__ import annotations

import pytest

from floor.desired.services import TARGET
from floor.errors import BoxError, FloorError, RefusedError
from floor.plan.difference import COPY_PREFIX
from tests.simulated.situation import ONE_BOX, TWO_BOXES, Situation

UNIT = f"{COPY_PREFIX}flagship.service"
BOTH = {"flagship@spark-a", "flagship@spark-b"}
READING = {"observe", "nginx.test"}


def calls(situation: Situation) -> set[str]:
    return {line.split()[1] for line in situation.world.log}


def test_bare_boxes_come_to_serve(situation: Situation) -> None:
    assert situation.deploy()
    assert situation.members() == [BOTH, BOTH]
    assert [situation.world.answering(box) for box in ("spark-a", "spark-b")] == [BOTH, BOTH]


def test_fresh_copies_start_side_by_side(situation: Situation) -> None:
    _, plan = situation.deployment().look()
    (stage,) = [stage for stage in plan.stages if stage.title == "start flagship"]
    assert [{step.box for step in lane} for lane in stage.lanes] == [{"spark-a", "spark-b"}, {"spark-a", "spark-b"}]
    assert [lane[0].box for lane in stage.lanes] == ["spark-a", "spark-b"]
    assert not plan.outage


def test_a_second_run_finds_nothing(deployed: Situation) -> None:
    assert not deployed.deploy()
    assert calls(deployed) == {"observe"}


def test_an_edited_option_replaces_one_copy_after_the_other(deployed: Situation) -> None:
    fewest: list[int] = []
    deployed.world.watch = lambda: fewest.append(
        min(len(deployed.world.answering(box)) for box in deployed.world.boxes)
    )
    deployed.edit("max_requests: 12", "max_requests: 8")
    assert deployed.deploy()
    assert min(fewest) == 1
    assert (deployed.starts("spark-a"), deployed.starts("spark-b")) == (2, 2)
    assert deployed.world.cut == []
    assert not deployed.deploy()


def test_a_dry_run_only_looks(deployed: Situation) -> None:
    deployed.edit("max_requests: 12", "max_requests: 8")
    outcome = deployed.deploy_all(dry_run=True)
    assert outcome.pending
    assert calls(deployed) == {"observe", "foreign.look", "layout.look"}
    assert "   spark-a: drain flagship@spark-a   [arguments change: --max-num-seqs 12 → 8]" in outcome.lines()


def test_a_deployment_tells_what_it_does_and_checks_the_result(situation: Situation) -> None:
    outcome = situation.deploy_all()
    assert (outcome.changed, outcome.complete) == (True, True)
    assert situation.said[0] == "share the keys"
    assert "  spark-a: start flagship@spark-a   [it is inactive]" in situation.said
    assert situation.said[situation.said.index("done") + 1 :][:3] == [
        "ok  spark-a: flagship@spark-a is in the pool: looked at http://192.0.2.11:8000",
        "ok  spark-a: flagship@spark-b is in the pool: looked at http://192.0.2.12:8000",
        "ok  spark-a: chat with flagship: 200, 0.10 s",
    ]
    assert outcome.as_json()["checks"][0] == {
        "ok": True,
        "where": "spark-a",
        "what": "flagship@spark-a is in the pool: looked at http://192.0.2.11:8000",
    }


def test_what_was_done_and_why_is_an_event_of_its_box(deployed: Situation) -> None:
    deployed.edit("max_requests: 12", "max_requests: 8")
    deployed.deploy()
    told = {event["text"]: event["data"] for event in deployed.box("spark-b").events}
    assert told["stop flagship@spark-b"]["why"] == "arguments change: --max-num-seqs 12 → 8"
    assert told["stop flagship@spark-b"]["verb"] == "deploy"


def test_a_hand_edited_unit_is_put_back_without_a_restart(deployed: Situation) -> None:
    box = deployed.box("spark-b")
    path = f"/etc/systemd/system/{UNIT}"
    text = box.files[path].text
    box.edit(path, text + "# by hand\n")
    assert deployed.deploy()
    assert box.files[path].text == text
    assert deployed.starts("spark-b") == 1
    assert not box.needs_reload


def test_a_drop_in_goes_and_its_copy_restarts(deployed: Situation) -> None:
    box = deployed.box("spark-b")
    box.edit(f"/etc/systemd/system/{UNIT}.d/override.conf", "[Service]\nNice=1\n")
    assert deployed.deploy()
    assert not [path for path in box.files if "service.d/" in path]
    assert (deployed.starts("spark-a"), deployed.starts("spark-b")) == (1, 2)
    assert not deployed.deploy()


def test_a_drop_in_of_all_copies_goes_and_is_named(deployed: Situation) -> None:
    path = "/etc/systemd/system/floor-copy-.service.d/all.conf"
    deployed.box("spark-b").edit(path, "[Service]\nNice=1\n")
    _, plan = deployed.deployment().look()
    assert plan.notes == (
        f"flagship@spark-b was started under {path}, which goes: it keeps what that says until it restarts",
    )
    assert deployed.deploy()
    assert path not in deployed.box("spark-b").files
    assert deployed.starts("spark-b") == 1
    assert not deployed.deploy()


def test_a_drop_in_of_all_services_of_floor_restarts_those(deployed: Situation) -> None:
    box = deployed.box("spark-b")
    box.edit("/etc/systemd/system/floor-.service.d/all.conf", "[Service]\nNice=1\n")
    assert deployed.deploy()
    assert deployed.starts("spark-b", "floor-pool.service") == 2
    assert deployed.starts("spark-b") == 1
    assert not deployed.deploy()


def test_another_image_under_the_same_name_restarts_the_copies(deployed: Situation) -> None:
    deployed.box("spark-a").images["registry.example/vllm:v1"] = "sha256:2"
    assert deployed.deploy()
    assert (deployed.starts("spark-a"), deployed.starts("spark-b")) == (2, 1)


def test_a_copy_that_never_comes_up_stops_the_rest(deployed: Situation) -> None:
    before = set(deployed.world.launches)
    deployed.edit("max_requests: 12", "max_requests: 8")
    deployed.site()
    deployed.world.broken = set(deployed.world.launches) - before
    with pytest.raises(FloorError, match=r"spark-a: floor-copy-flagship.service does not stay up \(exit-code\): lo"):
        deployed.deploy()
    assert deployed.members()[0] == {"flagship@spark-b"}
    assert deployed.starts("spark-b") == 1
    deployed.text = TWO_BOXES
    assert deployed.deploy()
    assert deployed.members() == [BOTH, BOTH]


def test_a_stopped_copy_comes_back(deployed: Situation) -> None:
    deployed.box("spark-a").lose(UNIT)
    assert deployed.deploy()
    assert deployed.members() == [BOTH, BOTH]
    assert deployed.starts("spark-b") == 1


def test_a_stopped_service_is_started_and_no_engine_touched(deployed: Situation) -> None:
    deployed.box("spark-b").lose("floor-pool.service")
    assert deployed.deploy()
    assert deployed.starts("spark-b", "floor-pool.service") == 2
    assert deployed.starts("spark-b") == 1
    assert not deployed.deploy()


def target(situation: Situation) -> list[tuple[str, bool, int]]:
    """Of the target of each box: its state, whether a boot starts it, and how often it was started."""
    boxes = situation.world.boxes.values()
    return [
        (box.state(TARGET), TARGET in box.enabled, situation.starts(box.name, TARGET)) for box in boxes if box.files
    ]


def test_the_target_of_the_engines_is_active_after_a_first_deployment_whatever_kills_it(situation: Situation) -> None:
    """It is started before any engine is enabled, so that it starts none."""
    killed = situation.at_each_call(Situation.deploy)
    between = [left for left in killed if ("active", False, 1) in target(left)]
    assert between
    for left in between:
        left.world.sleep(100)
        left.deploy()
        assert [found[:2] for found in target(left)] == [("active", True)] * 2
    assert target(situation) == [("active", True, 1)] * 2


def test_a_target_that_somebody_stopped_is_left_alone(deployed: Situation) -> None:
    deployed.box("spark-b").lose(TARGET)
    assert not deployed.deploy()
    deployed.edit("max_requests: 12", "max_requests: 13")
    assert deployed.deploy()
    assert target(deployed) == [("active", True, 1), ("inactive", True, 1)]


def test_a_target_that_waits_for_engines_after_a_boot_is_left_alone(deployed: Situation) -> None:
    deployed.box("spark-b").power_cut()
    assert target(deployed)[1] == ("inactive", True, 2)
    deployed.edit("max_requests: 12", "max_requests: 13")
    assert deployed.deploy()
    assert target(deployed) == [("active", True, 1), ("active", True, 2)]


def test_a_target_that_somebody_disabled_is_enabled_again(deployed: Situation) -> None:
    deployed.box("spark-b").enabled.discard(TARGET)
    assert deployed.deploy()
    assert target(deployed)[1][:2] == ("active", True)
    assert deployed.starts("spark-b") == 1


def test_a_target_that_somebody_stopped_and_disabled_is_enabled_alone(deployed: Situation) -> None:
    """Its start would start, all at once, every engine that somebody stopped."""
    box = deployed.box("spark-b")
    box.enabled.discard(TARGET)
    box.lose(TARGET)
    assert deployed.deploy()
    assert target(deployed)[1] == ("inactive", True, 1)


def test_a_comment_in_the_file_is_recorded_and_restarts_nothing(deployed: Situation) -> None:
    deployed.text = "# our boxes\n" + deployed.text
    assert deployed.deploy()
    assert deployed.box("spark-a").config == deployed.text
    assert calls(deployed) == {"observe", "nginx.test", "operation.take", "config.put", "operation.release"}


def test_no_box_at_all_is_an_error(deployed: Situation) -> None:
    for box in deployed.world.boxes.values():
        box.up = False
    with pytest.raises(BoxError, match="no box answers:\nspark-a: no way there\nspark-b: no way there"):
        deployed.deploy()


def test_every_box_that_cannot_be_asked_is_named(deployed: Situation) -> None:
    for box in deployed.world.boxes.values():
        box.refuses = BoxError(f"{box.name}: floor is not installed there; run `floor setup {box.name}`")
    with pytest.raises(BoxError, match=r"spark-a: floor is not.*\nspark-b: floor is not installed"):
        deployed.deploy()


def test_one_box_is_refused_until_the_outage_is_accepted(situation: Situation) -> None:
    situation.text = ONE_BOX
    situation.deploy()
    situation.text = ONE_BOX.replace("max_requests: 12", "max_requests: 8")
    with pytest.raises(RefusedError, match="last serving copy of flagship"):
        situation.deploy()
    assert situation.starts("spark-a") == 1
    assert situation.deploy(force=True)
    assert situation.starts("spark-a") == 2


def test_a_file_that_says_the_same_as_the_later_one_is_no_older_file(deployed: Situation) -> None:
    """It was deployed, then one with another comment, and now it is given again."""
    first = deployed.text
    deployed.text = f"# another comment\n{first}"
    assert deployed.deploy_all().changed
    deployed.text = first
    assert deployed.deploy_all().complete
