"""Deployments on boxes in memory: what they change, in which order, and that nothing can leave nobody serving."""

from __future__ import annotations

import contextlib

import pytest

from floor.errors import BoxError, BusyError, FloorError, RefusedError
from floor.operations.deploy import deployment
from tests.unit.operations.conftest import ONE_BOX, TWO_BOXES, Situation
from tests.unit.operations.world import Killed

UNIT = "floor-copy-flagship.service"
BOTH = {"flagship@spark-a", "flagship@spark-b"}


def deployed(situation: Situation) -> Situation:
    situation.deploy()
    situation.world.log.clear()
    return situation


def members(situation: Situation) -> list[set[str]]:
    return [situation.world.members(box, "flagship") for box in situation.world.boxes]


def test_bare_boxes_come_to_serve(situation: Situation) -> None:
    assert situation.deploy()
    assert members(situation) == [BOTH, BOTH]


def test_fresh_copies_start_side_by_side(situation: Situation) -> None:
    _, plan = deployment(situation.site(), "replicas", print, print, force=False).look()
    (stage,) = [stage for stage in plan.stages if stage.title == "start flagship"]
    assert [{step.box for step in lane} for lane in stage.lanes] == [{"spark-a", "spark-b"}, {"spark-a", "spark-b"}]
    assert [lane[0].box for lane in stage.lanes] == ["spark-a", "spark-b"]


def test_a_second_run_finds_nothing(situation: Situation) -> None:
    assert not deployed(situation).deploy()
    assert {line.split()[1] for line in situation.world.log} == {"observe"}


def test_an_edited_option_replaces_one_copy_after_the_other(situation: Situation) -> None:
    deployed(situation)
    fewest = []
    situation.world.watch = lambda: fewest.append(min(len(found) for found in members(situation)))
    situation.text = TWO_BOXES.replace("max_requests: 12", "max_requests: 8")
    assert situation.deploy()
    assert min(fewest) == 1
    assert (situation.starts("spark-a"), situation.starts("spark-b")) == (2, 2)
    assert not situation.deploy()


def test_one_box_is_refused_until_the_outage_is_accepted(situation: Situation) -> None:
    situation.text = ONE_BOX
    deployed(situation)
    situation.text = ONE_BOX.replace("max_requests: 12", "max_requests: 8")
    with pytest.raises(RefusedError, match="last serving copy of flagship"):
        situation.deploy()
    assert situation.starts("spark-a") == 1
    assert situation.deploy(force=True)
    assert situation.starts("spark-a") == 2


def test_a_hand_edited_unit_is_put_back_without_a_restart(situation: Situation) -> None:
    box = deployed(situation).world.boxes["spark-b"]
    path = f"/etc/systemd/system/{UNIT}"
    text = box.files[path]["text"]
    box.edit(path, text + "# by hand\n")
    assert situation.deploy()
    assert box.files[path]["text"] == text
    assert situation.starts("spark-b") == 1
    assert not box.needs_reload


def test_a_drop_in_goes_and_its_copy_restarts(situation: Situation) -> None:
    box = deployed(situation).world.boxes["spark-b"]
    box.edit(f"/etc/systemd/system/{UNIT}.d/override.conf", "[Service]\nNice=1\n")
    assert situation.deploy()
    assert not [path for path in box.files if "service.d/" in path]
    assert (situation.starts("spark-a"), situation.starts("spark-b")) == (1, 2)


def test_another_image_under_the_same_name_restarts_the_copies(situation: Situation) -> None:
    deployed(situation)
    situation.world.boxes["spark-a"].images["registry.example/vllm:v1"] = "sha256:2"
    assert situation.deploy()
    assert (situation.starts("spark-a"), situation.starts("spark-b")) == (2, 1)


def test_a_copy_that_never_comes_up_stops_the_rest(situation: Situation) -> None:
    deployed(situation)
    before = set(situation.world.launches)
    situation.text = TWO_BOXES.replace("max_requests: 12", "max_requests: 8")
    situation.site()
    situation.world.broken = set(situation.world.launches) - before
    with pytest.raises(FloorError, match="does not stay up"):
        situation.deploy()
    assert situation.world.members("spark-a", "flagship") == {"flagship@spark-b"}
    assert situation.starts("spark-b") == 1
    situation.text = TWO_BOXES
    assert situation.deploy()
    assert members(situation) == [BOTH, BOTH]


def test_a_stopped_copy_comes_back(situation: Situation) -> None:
    box = deployed(situation).world.boxes["spark-a"]
    box.processes.pop(UNIT)
    assert situation.deploy()
    assert members(situation) == [BOTH, BOTH]
    assert situation.starts("spark-b") == 1


def test_an_absent_box_is_kept_out_and_comes_back_reconciled(situation: Situation) -> None:
    deployed(situation)
    situation.world.boxes["spark-b"].up = False
    situation.text = TWO_BOXES.replace("max_requests: 12", "max_requests: 8")
    with pytest.raises(RefusedError):
        situation.deploy()  # the one copy that is left would go
    situation.deploy(force=True)
    situation.world.boxes["spark-b"].up = True
    assert situation.world.members("spark-a", "flagship") == {"flagship@spark-a"}
    situation.deploy()
    assert members(situation) == [BOTH, BOTH]
    assert situation.starts("spark-b") == 2


def test_no_box_at_all_is_an_error(situation: Situation) -> None:
    deployed(situation)
    for box in situation.world.boxes.values():
        box.up = False
    with pytest.raises(BoxError, match="no box answers"):
        situation.deploy()


def test_a_model_that_is_gone_from_the_file_is_retired(situation: Situation) -> None:
    more = TWO_BOXES.replace(
        "proxy:",
        "  small:\n    source: /models/small\n    utilization: 0.4\n    port: 8001\n    listen: 8081\n"
        '    runtime: {kind: docker, image: "registry.example/vllm:v1"}\n    replicas: [spark-b]\nproxy:',
    )
    situation.text = more
    deployed(situation)
    box = situation.world.boxes["spark-b"]
    assert box.state("floor-copy-small.service") == "active"
    situation.text = TWO_BOXES
    situation.deploy(force=True)
    assert box.state("floor-copy-small.service") == "inactive"
    assert not [path for path in box.files if "small" in path]
    assert "floor-copy-small.service" not in box.enabled
    assert situation.starts("spark-b") == 1
    assert not situation.deploy()


def test_a_copy_moves_to_another_box_without_an_outage(situation: Situation) -> None:
    three = TWO_BOXES.replace("models:", "  spark-c: {host: 192.0.2.13}\nmodels:", 1)
    situation.text = three
    deployed(situation)
    fewest: list[int] = []
    situation.world.watch = lambda: fewest.append(
        min(len(situation.world.members(b, "flagship")) for b in ("spark-a", "spark-b"))
    )
    situation.text = three.replace("replicas: [spark-a, spark-b]", "replicas: [spark-a, spark-c]")
    situation.deploy()
    assert situation.world.members("spark-a", "flagship") == {"flagship@spark-a", "flagship@spark-c"}
    assert min(fewest) >= 2
    assert situation.world.boxes["spark-b"].state(UNIT) == "inactive"
    assert not situation.deploy()


def test_somebody_else_at_work_is_named(situation: Situation) -> None:
    box = deployed(situation).world.boxes["spark-a"]
    box._answer(
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
    situation.text = TWO_BOXES.replace("max_requests: 12", "max_requests: 8")
    with pytest.raises(BusyError, match=r"ada@other \(pid 7\) is at work there: floor restart, operation 99"):
        situation.deploy()


def test_killed_at_any_call_the_same_command_finishes_and_somebody_always_serves(situation: Situation) -> None:
    """A rolling change of both copies, killed before or after each of its calls in turn."""
    deployed(situation)
    total = _calls_of_a_change(situation)
    for at in range(1, total + 1):
        for after in (False, True):
            _kill_once(situation, at, after=after)


def _edit(situation: Situation) -> None:
    number = int(situation.text.split("max_requests: ")[1].split("\n")[0])
    situation.text = situation.text.replace(f"max_requests: {number}", f"max_requests: {number + 1}")


def _calls_of_a_change(situation: Situation) -> int:
    _edit(situation)
    situation.world.calls = 0
    situation.deploy()
    return situation.world.calls


def _kill_once(situation: Situation, at: int, *, after: bool) -> None:
    world = situation.world
    _edit(situation)
    fewest: list[int] = []
    world.watch = lambda: fewest.append(min(len(found) for found in members(situation)))
    world.calls, world.die_at, world.die_after = 0, at, after
    with contextlib.suppress(Killed):
        situation.deploy()
    world.die_at, world.dead = None, False
    world.sleep(100)  # the lease has lapsed
    situation.deploy()
    assert min(fewest) >= 1, f"nobody served when killed at call {at}"
    assert members(situation) == [BOTH, BOTH]
    assert not situation.deploy()
    world.watch = lambda: None
