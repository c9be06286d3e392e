"""One copy is measured outside of its pools, and is in them again whatever happens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from floor.bench import run
from floor.bench.level import Level, to_json
from floor.bench.traffic import built_in
from floor.errors import BoxError, FloorError, RefusedError, UsageError
from floor.operations import bench_copy, drain, lease, status
from floor.operations.bench import Plan
from floor.operations.swap_edit import Wish
from tests.simulated.caller import Caller, KilledError
from tests.simulated.situation import ONE_BOX, Situation

LEVEL = Level(1.0, (10.0, 10.0), 60.0, {}, {}, 5, 0)


def plan(*levels: float) -> Plan:
    return Plan("http://192.0.2.12:8000", "flagship", None, built_in("short"), "short", levels, 1.0)


def measured(situation: Situation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *levels: float, **how: Any) -> Any:
    """Measure the copy on spark-b; return the run, the orders that boxes got, and who was a member meanwhile."""
    site = situation.site()
    orders: list[tuple[str, dict[str, Any]]] = []
    members: list[set[str]] = []

    def stream(box: Any, name: str, params: dict[str, Any]) -> Any:
        assert name == "bench.level"
        orders.append((box.name, params))
        members.append(situation.members()[0])
        if how.get("wrong"):
            raise how["wrong"]
        yield json.dumps({"level": {**to_json(LEVEL), "at": params["at"]}})

    monkeypatch.setattr(type(situation.box("spark-a")), "stream", stream)
    copy = drain.find(site, how.get("copy", "flagship@spark-b"))
    out = tmp_path / "run.json"
    found = bench_copy.measure(site, copy, plan(*levels), out, situation.said.append, last=how.get("last", False))
    return found[0], orders, members


def test_it_is_out_while_it_is_measured_and_in_again(
    deployed: Situation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found, orders, members = measured(deployed, monkeypatch, tmp_path, 4, 1, 2)
    assert [level.at for level in found.levels] == [1, 2, 4]
    assert [box for box, _ in orders] == ["spark-a"] * 3  # not from its own box
    assert members == [{"flagship@spark-a"}] * 3
    assert deployed.members() == [{"flagship@spark-a", "flagship@spark-b"}] * 2
    assert deployed.box("spark-a").record["state"] == "done"  # type: ignore[index]
    assert not deployed.deploy()


def test_the_key_is_not_sent_and_no_prompt_twice(
    deployed: Situation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _, orders, _ = measured(deployed, monkeypatch, tmp_path, 1, 2)
    assert [order["key"] for _, order in orders] == [True, True]
    assert "engine-key" not in json.dumps(orders)
    assert orders[1][1]["first"] - orders[0][1]["first"] == LEVEL.requests


def test_what_was_measured_is_not_measured_again(
    deployed: Situation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    measured(deployed, monkeypatch, tmp_path, 1, 2)
    _, orders, _ = measured(deployed, monkeypatch, tmp_path, 1, 2, 4)
    assert [order["at"] for _, order in orders] == [4]
    _, orders, _ = measured(deployed, monkeypatch, tmp_path, 1, 2)
    assert orders == []
    other = Plan("http://x", "flagship", None, built_in("short"), "short", (1.0,), 1.0)
    copy = drain.find(deployed.site(), "flagship@spark-b")
    with pytest.raises(UsageError, match="holds a run with other url"):
        bench_copy.measure(deployed.site(), copy, other, tmp_path / "run.json", print, last=False)


@pytest.mark.parametrize("wrong", [BoxError("spark-a: lost"), KeyboardInterrupt()])
def test_whatever_happens_the_pools_have_it_again(
    deployed: Situation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wrong: BaseException
) -> None:
    with pytest.raises(type(wrong)):
        measured(deployed, monkeypatch, tmp_path, 1, wrong=wrong)
    deployed.world.sleep(5.0)
    assert "flagship@spark-b" in deployed.members()[0]
    assert deployed.box("spark-a").recorded.get("flagship@spark-b", ()) == ()


def test_the_last_one_is_not_taken(situation: Situation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    situation.text = ONE_BOX
    situation.deploy()
    with pytest.raises(RefusedError, match="is the only member"):
        measured(situation, monkeypatch, tmp_path, 1, copy="spark-a")
    found, orders, _ = measured(situation, monkeypatch, tmp_path, 1, copy="spark-a", last=True)
    assert len(found.levels) == 1
    assert orders[0][0] == "spark-a"  # there is no other box to ask from


def test_a_box_that_is_away_is_no_time_to_measure(
    deployed: Situation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    deployed.box("spark-a").up = False
    with pytest.raises(BoxError, match="its pool might still send requests meanwhile; nothing was measured"):
        measured(deployed, monkeypatch, tmp_path, 1)


def test_a_level_in_which_the_hold_was_lost_is_not_kept(
    deployed: Situation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The pools may have sent requests, too."""
    real = bench_copy._level

    def losing(*given: Any) -> Level:
        if given[-2] == 2:  # the level
            held[0].lost.set()
        return real(*given)

    held: list[lease.Lease] = []
    enter = lease.Lease.__enter__
    monkeypatch.setattr(lease.Lease, "__enter__", lambda self: held.append(self) or enter(self))
    monkeypatch.setattr(bench_copy, "_level", losing)
    with pytest.raises(FloorError, match="what was measured before is kept in"):
        measured(deployed, monkeypatch, tmp_path, 1, 2, 4)
    assert [level.at for level in run.load(tmp_path / "run.json").levels] == [1]


def test_what_cannot_be_done_is_said_before_the_copy_is_taken_out(
    deployed: Situation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    site, copy = deployed.site(), drain.find(deployed.site(), "flagship@spark-b")
    with pytest.raises(FloorError, match="cannot be written"):
        bench_copy.measure(site, copy, plan(1), tmp_path / "no" / "run.json", deployed.said.append, last=False)
    monkeypatch.setattr(bench_copy, "MOST", 100)
    with pytest.raises(
        UsageError, match="short: holds 0 MiB of requests; a box is sent at most 0 MiB with --copy: leave"
    ):
        bench_copy.measure(site, copy, plan(1), tmp_path / "run.json", deployed.said.append, last=False)
    assert deployed.said == []
    assert deployed.world.log == []


def test_no_result_is_an_error(deployed: Situation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(deployed.box("spark-a")), "stream", lambda *_: iter(["", "{}", "no"]))
    site = deployed.site()
    copy = drain.find(site, "flagship@spark-b")
    with pytest.raises(BoxError, match="spark-a: the measurement ended without a result"):
        bench_copy._level(site, "spark-a", copy, plan(1), [], 1, 0)


def test_one_that_is_still_asked_is_not_measured(
    deployed: Situation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    busy = {"idle": False, "running": 2, "waiting": 0, "reason": ""}
    monkeypatch.setattr(deployed.box("spark-b").calls, "engine_idle", lambda _: busy)
    with pytest.raises(FloorError, match="still works on 2 requests after 1800 s, though no pool has it; who asks it"):
        measured(deployed, monkeypatch, tmp_path, 1)


def test_one_that_was_drained_by_a_person_stays_drained(
    deployed: Situation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    site = deployed.site()
    drain.drain(site, drain.find(site, "spark-b"), print, last=False)
    found, _, _ = measured(deployed, monkeypatch, tmp_path, 1)
    assert len(found.levels) == 1
    deployed.world.sleep(5)
    assert deployed.members() == [{"flagship@spark-a"}] * 2
    assert deployed.said[-1] == "flagship@spark-b stays drained"


def test_another_operation_that_was_left_comes_first(
    deployed: Situation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It would be forgotten: an operation's record is in the place of the one before."""
    before = deployed.text
    deployed.edit("max_requests: 12", "max_requests: 8")
    deployed.fate = Caller(0, 40, then=lambda _box: deployed.caller.kill())
    with pytest.raises(KilledError):
        deployed.deploy()
    deployed.text = before
    with pytest.raises(RefusedError, match="was left unfinished; `floor deploy` ends it"):
        measured(deployed, monkeypatch, tmp_path, 1)


def test_who_measured_was_killed_and_nothing_is_left_to_end(
    deployed: Situation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(lease.Lease, "_release", lambda _: None)
    with pytest.raises(KilledError):
        measured(deployed, monkeypatch, tmp_path, 1, wrong=KilledError())
    deployed.caller.dead = True
    told = [line for line in status.status(deployed.site())["warnings"] if "floor bench" in line]
    assert len(told) == 1
    assert told[0].endswith("it has changed nothing, and its hold lapses within 90 s")
    assert deployed.swap("flagship", Wish(args=["tool-call-parser=hermes"]), dry_run=True).plan
    deployed.world.sleep(100)
    assert not [line for line in status.status(deployed.site())["warnings"] if "floor bench" in line]
